// SPDX-License-Identifier: Apache-2.0
// A compute lane's threads lent to kernels: for merges of a host whose mini-batches run elsewhere,
// on a GPU. More than kMost do not pay for their waking. Cost: some 10 us a call.
#pragma once

#include <algorithm>

#include "kernels/core/workers.hpp"
#include "runtime/seams/compute_lane.hpp"

namespace hearsay::runtime {

class LaneWorkers final : public kernels::Workers {
 public:
  explicit LaneWorkers(ComputeLane& lane) : lane_(lane) {}
  std::size_t count() const override { return std::min(kMost, lane_.workers()); }
  void run(const std::function<void(std::size_t)>& body) override {
    lane_.parallel_for(count(), [&](std::size_t part, std::size_t) { body(part); });
  }

 private:
  static constexpr std::size_t kMost = 8;
  ComputeLane& lane_;
};

}  // namespace hearsay::runtime
