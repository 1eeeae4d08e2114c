// SPDX-License-Identifier: Apache-2.0
// When a peer's next evaluation on the way is due (--eval-every), in its own epochs.
#pragma once

#include <cmath>

#include "gossip/archive.hpp"

namespace hearsay::runtime {

class EvaluationPlan {
 public:
  explicit EvaluationPlan(double every_epochs = 0.0) : every_(every_epochs), next_(every_epochs) {}

  // True once for every multiple of the interval that has been passed; never when it is 0.
  bool take_due(double epochs) {
    if (every_ <= 0.0 || epochs + kRounding < next_) return false;
    next_ = (std::floor(epochs / every_ + kRounding) + 1.0) * every_;
    return true;
  }
  void state(gossip::Archive& a) { a("next", next_); }

 private:
  static constexpr double kRounding = 1e-9;
  double every_, next_;
};

}  // namespace hearsay::runtime
