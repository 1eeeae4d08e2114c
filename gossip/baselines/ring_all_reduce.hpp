// SPDX-License-Identifier: Apache-2.0
// Sums a buffer over all peers along a ring (Patarasuk & Yuan 2009). Communication: 2 (n - 1)
// messages and 8 N (n - 1) / n bytes sent per peer and round. Sums run along the ring in a fixed
// order and the finished slices are passed on unchanged.
#pragma once

#include <cstdint>
#include <span>

#include "gossip/baselines/all_reduce.hpp"

namespace hearsay::gossip {

class RingAllReduce final : public AllReduce {
 public:
  using AllReduce::AllReduce;

  void begin(std::uint64_t round, const Sum& own, std::span<float> values, LocalModel& model,
             Actions& out) override;
  bool advance(std::span<float> values, LocalModel& model, Actions& out) override;
  void state(Archive& a) override;

  // Values [begin, end) of slice `slice` when `size` values are cut into `peers` slices.
  struct Range {
    std::size_t begin, end;
  };
  static Range slice_range(std::size_t size, std::uint32_t peers, std::uint32_t slice);

 private:
  void send_slice(std::uint32_t slice, const Sum& sum, std::span<float> values, LocalModel& model,
                  Actions& out);
  bool take_slice(const Frame& frame, std::span<float> values, LocalModel& model, Actions& out);

  Sum own_;
};

}  // namespace hearsay::gossip
