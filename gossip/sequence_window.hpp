// SPDX-License-Identifier: Apache-2.0
// Which of a sender's numbered weights have come already, so that none is merged twice. Numbers may
// arrive out of order by up to 64; what is older counts as seen.
#pragma once

#include <cstdint>

#include "gossip/archive.hpp"

namespace hearsay::gossip {

class SequenceWindow {
 public:
  // False when `seq` has been seen, or may have been.
  bool take(std::uint64_t seq) {
    if (seq >= next_) {
      const std::uint64_t ahead = seq - next_ + 1;
      seen_ = (ahead < 64 ? seen_ << ahead : 0) | 1;
      next_ = seq + 1;
      return true;
    }
    const std::uint64_t back = next_ - 1 - seq;
    if (back >= 64 || (seen_ >> back & 1) != 0) return false;
    seen_ |= std::uint64_t{1} << back;
    return true;
  }
  void state(Archive& a) { a("next", next_)("seen", seen_); }

 private:
  std::uint64_t next_ = 0, seen_ = 0;  // bit i: next_ - 1 - i has been seen
};

}  // namespace hearsay::gossip
