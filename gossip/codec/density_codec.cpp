// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/density_codec.hpp"

namespace hearsay::gossip {

merge::PackedRef DensityCodec::encode(std::span<const float> weights, const merge::Packed* like) {
  spoken_ = text_(density_.share());
  return SparseCodec::encode(weights, like);
}

LossNews DensityCodec::learned(double loss) {
  const double before = density_.share();
  const Density::News news = density_.add(loss);
  LossNews told;
  told.has_diverged = news == Density::News::diverged;
  if (density_.share() == before) return told;
  keep(density_.share());
  told.change = CodecChange{text_(before), text_(density_.share())};
  return told;
}

// What was learnt about the share stays.
void DensityCodec::forget() {
  density_.forget();
  SparseCodec::forget();
}

void DensityCodec::state(Archive& archive) {
  archive("density", density_);
  if (archive.loading()) keep(density_.share());
  SparseCodec::state(archive);
}

}  // namespace hearsay::gossip
