// SPDX-License-Identifier: Apache-2.0
// A histogram under construction: four tables side by side, since two counts of one bin in a row
// would wait for each other. 32-bit counts, drained before they can overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearsay::kernels {

class BinTable {
 public:
  explicit BinTable(std::size_t bins) : counts_(4 * bins), totals_(bins) {}

  void add(std::uint32_t bin, std::size_t lane) { ++counts_[4 * bin + lane % 4]; }

  // Counts of places 4 * bin + lane that a loop which vectorises has worked out (coarse_slots).
  void add_slots(std::size_t n, const std::uint32_t* slots) {
    std::uint32_t* const counts = counts_.data();
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      ++counts[slots[i]];
      ++counts[slots[i + 1]];
      ++counts[slots[i + 2]];
      ++counts[slots[i + 3]];
    }
    for (; i < n; ++i) ++counts[slots[i]];
    note(n);
  }

  // After a batch of `added` values.
  void note(std::size_t added) {
    pending_ += added;
    if (pending_ >= kMostPending) drain();
  }

  // Adds all counts to `out` and is empty.
  void move_to(std::uint64_t* out) {
    drain();
    for (std::size_t bin = 0; bin < totals_.size(); ++bin) {
      out[bin] += totals_[bin];
      totals_[bin] = 0;
    }
  }

 private:
  static constexpr std::size_t kMostPending = std::size_t{1} << 30;

  void drain() {
    for (std::size_t bin = 0; bin < totals_.size(); ++bin) {
      for (std::size_t lane = 0; lane < 4; ++lane) {
        totals_[bin] += counts_[4 * bin + lane];
        counts_[4 * bin + lane] = 0;
      }
    }
    pending_ = 0;
  }

  std::vector<std::uint32_t> counts_;
  std::vector<std::uint64_t> totals_;
  std::size_t pending_ = 0;
};

}  // namespace hearsay::kernels
