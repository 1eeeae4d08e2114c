// SPDX-License-Identifier: Apache-2.0
// The losses of one peer over its budget, as a line of small bars. The axis is the share of the
// budget that is done, so the picture grows to the right and never moves. Invariant: bounded, kBins
// numbers however long the run. Lane: whoever owns the display. Cost: 0.5 KiB a peer.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace hearsay::runtime {

class LossHistory {
 public:
  void add(double progress,
           double loss);  // progress in 0 .. 1; a loss that is not finite is left out
  // Means of `columns` equal parts of the budget up to the newest loss: the part before stands in
  // for one without.
  std::vector<double> means(int columns) const;

 private:
  static constexpr int kBins = 48;
  struct Bin {
    double sum = 0.0;
    unsigned count = 0;
  };
  std::array<Bin, kBins> bins_{};
};

// What all sparklines of a pool share, so that they can be compared; logarithmic, because a loss
// falls most at the beginning.
struct LossScale {
  double least = 0.0, most = 0.0;
};
std::optional<LossScale> common_scale(const std::vector<LossHistory>& histories, int columns);

// One character a mean: eight heights, the lowest for scale.least.
std::string sparkline(const std::vector<double>& means, const LossScale& scale, bool utf8);

}  // namespace hearsay::runtime
