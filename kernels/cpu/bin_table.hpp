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
