// SPDX-License-Identifier: Apache-2.0
// How much of the model a message says, by the loss on the probe set after each merge: `+density`.
// While it falls fast, less is enough; where it stands still, more is said, so that a plateau is
// not one of communication. A loss beyond kJump times its average, or none at all, is a divergence:
// the share doubles, and whoever asked goes back to its last good weights. Pure arithmetic.
//   z = -(slope of the last kSlope losses, by least squares) / (their mean)   a merge
//   share *= 1.25 where z < slow, *= 0.9 where z > fast, each three merges in a row
// Invariant: kLeast <= share <= kMost, of three significant digits.
#pragma once

#include <vector>

#include "gossip/archive.hpp"

namespace hearsay::gossip {

struct DensityRule {
  double slow = 0.001, fast = 0.01;  // of the loss, a merge; slow < fast
};

class Density {
 public:
  static constexpr double kLeast = 1e-3, kMost = 0.3;
  static constexpr double kRaise = 1.25, kLower = 0.9;
  static constexpr std::size_t kSlope = 5;     // losses
  static constexpr unsigned kCalm = 3;         // merges that must agree, one after the other
  static constexpr double kJump = 1.5;         // over the average
  static constexpr double kMemory = 0.9;       // of the average
  static constexpr unsigned kDivergences = 3;  // in a row; the next one is believed

  enum class News { nothing, changed, diverged };

  // `share`: to begin with, within the bounds.
  Density(double share, const DensityRule& rule) : rule_(rule), share_(share) {}

  News add(double loss);  // after a merge
  double share() const { return share_; }
  void forget();  // the weights are others: losses so far mean nothing
  void state(Archive& archive);

 private:
  bool has_diverged(double loss);
  void move_by(double factor);

  DensityRule rule_;
  double share_;
  std::vector<double> losses_;  // the newest kSlope, oldest first
  double average_ = 0.0;        // 0: none yet
  int direction_ = 0;           // 1: stands still, -1: falls fast
  unsigned agreed_ = 0;         // merges that said so
  unsigned divergences_ = 0;    // in a row
};

}  // namespace hearsay::gossip
