// SPDX-License-Identifier: Apache-2.0
// Who merged with whom lately, over all peers. Invariant: in order of time, at most kMost; logs of
// several peers may be read one after the other. Lane: the viewer's. Cost: 50 bytes a merge kept;
// one that is older than all that are kept costs a comparison.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace hearsay::runtime {

struct SeenMerge {
  std::string into, from;  // the receiver, and whose model came in
  double alpha = 0.0;
  double at_s = 0.0;  // run clock
};

class MergeTrail {
 public:
  static constexpr std::size_t kMost = 1024, kFewest = 100;
  static constexpr double kSpan_s = 10.0;

  void add(SeenMerge merge);
  const std::deque<SeenMerge>& merges() const noexcept { return merges_; }

  // The merges of the last kSpan_s before `now_s`, or the last kFewest when those were fewer.
  struct Window {
    std::vector<SeenMerge> merges;  // oldest first
    double span_s = 0.0;            // from the first of them to now
  };
  Window lately(double now_s) const;

 private:
  std::deque<SeenMerge> merges_;
};

}  // namespace hearsay::runtime
