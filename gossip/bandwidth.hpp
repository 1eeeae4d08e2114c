// SPDX-License-Identifier: Apache-2.0
// --bandwidth: what a peer may send, as a bucket that fills at that rate and holds kBurst of it.
// Every frame is paid for when it is sent, also out of an empty bucket: then the peer is in debt.
// It starts no merge before its debt is paid, and answers none while it owes more than kCredit. So
// in any time T it sends at most rate (T + kBurst + kCredit) and the frames of one exchange; signs
// of life, models for late joiners, examples, and what the end of a run needs go out in any case,
// and count. Run-clock times: virtual
// in a simulation. Compute lane of one peer. Cost: O(1).
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "gossip/archive.hpp"

namespace hearsay::gossip {

class Bandwidth {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr double kBurst_s = 1.0, kCredit_s = 2.0;

  explicit Bandwidth(double bytes_per_s) : rate_(bytes_per_s), left_(kBurst_s * bytes_per_s) {}

  double bytes_per_s() const { return rate_; }
  void pay(std::uint64_t bytes, Time now) {
    fill(now);
    left_ -= static_cast<double>(bytes);
  }
  bool may_start(Time now) {
    fill(now);
    return left_ >= 0.0;
  }
  bool may_answer(Time now) {
    fill(now);
    return left_ >= -kCredit_s * rate_;
  }
  double left() const { return left_; }  // bytes; negative: debt

  void state(Archive& a) {
    a("left", left_)("filled", filled_);
    if (!std::isfinite(left_) || left_ > kBurst_s * rate_) a.fail("left", "is out of range");
  }

 private:
  void fill(Time now) {
    if (now <= filled_) return;
    const double seconds = std::chrono::duration<double>(now - filled_).count();
    left_ = std::min(kBurst_s * rate_, left_ + rate_ * seconds);
    filled_ = now;
  }

  double rate_, left_;
  Time filled_{0};
};

}  // namespace hearsay::gossip
