// SPDX-License-Identifier: Apache-2.0
// A sparse codec that says more or less of the model as its loss asks for (density.hpp). Messages
// say how many weights they name, so partners need not agree. Compute lane of one peer. Cost: a
// forward pass over the probe set a merge, on the side of whoever tells the loss.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "gossip/codec/density.hpp"
#include "gossip/codec/sparse_codec.hpp"

namespace hearsay::gossip {

class DensityCodec final : public SparseCodec {
 public:
  using Text = std::function<std::string(double share)>;  // of the codec with that share

  DensityCodec(SparseCodec codec, const Density& density, Text text)
      : SparseCodec(std::move(codec)), density_(density), text_(std::move(text)) {}

  merge::PackedRef encode(std::span<const float> weights, const merge::Packed* like) override;
  const std::string* spoken() const override { return &spoken_; }
  bool minds_loss() const override { return true; }
  LossNews learned(double loss) override;
  void forget() override;
  void state(Archive& archive) override;

 private:
  Density density_;
  Text text_;
  std::string spoken_;  // in the newest message
};

}  // namespace hearsay::gossip
