// SPDX-License-Identifier: Apache-2.0
// The weights that differ most from what was published of them (kernels/ops/select_ops.hpp), named
// by their positions. Exact: as many as the budget has, found anew each time. By threshold: all
// above one that follows the target share from message to message (log threshold += gain *
// log(count / k)), at most twice the target; one pass instead of a search. Beyond twice the target
// those of the lowest positions are said, and the next message takes a fresh sample. Lane: compute.
// Cost: one pass over weights and published, 12 B an entry of memory.
#pragma once

#include "gossip/codec/budget.hpp"
#include "gossip/codec/entry_support.hpp"

namespace hearsay::gossip {

class LargestSupport final : public EntrySupport {
 public:
  enum class Kind { exact, threshold };
  // `most`: entries of a message, twice those of the budget or more where it goes by threshold.
  LargestSupport(Kind kind, Budget budget, const Places& places, std::size_t most)
      : EntrySupport(places, most), kind_(kind), budget_(std::move(budget)) {}

  void keep(double share) override { budget_.keep(share); }
  void forget() override { threshold_ = 0.0f; }
  void state(Archive& archive) override;

 private:
  void pick(std::span<const float> weights, std::span<float> published,
            std::vector<std::uint32_t>& at) override;
  void above_threshold(const kernels::SelectFrom& from, std::vector<std::uint32_t>& at);

  Kind kind_;
  Budget budget_;
  float threshold_ = 0.0f;    // of the next message; 0: take a sample
  std::vector<float> value_;  // work space of a selection
  std::vector<std::uint64_t> tile_begin_;
};

}  // namespace hearsay::gossip
