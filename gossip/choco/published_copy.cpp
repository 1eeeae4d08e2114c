// SPDX-License-Identifier: Apache-2.0
#include "gossip/choco/published_copy.hpp"

#include "kernels/core/check.hpp"
#include "kernels/core/digest.hpp"

namespace hearsay::gossip {

void PublishedCopy::hold(merge::SnapshotRef values, std::uint64_t version) {
  values_ = std::move(values);
  version_ = version;
  digest_ = kernels::digest(values_->span()).low;
}

void PublishedCopy::add(std::span<const float> difference, LocalModel& model) {
  HS_CHECK(is_held() && difference.size() == values_->size());
  const std::shared_ptr<merge::Snapshot> next = model.blank();
  const std::span<const float> before = values_->span();
  float* const out = next->values.data();
  for (std::size_t i = 0; i < difference.size(); ++i) out[i] = before[i] + difference[i];
  hold(next, version_ + 1);
}

}  // namespace hearsay::gossip
