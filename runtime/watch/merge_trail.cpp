// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/merge_trail.hpp"

#include <algorithm>
#include <utility>

namespace hearsay::runtime {

void MergeTrail::add(SeenMerge merge) {
  if (merges_.size() == kMost) {
    if (merge.at_s < merges_.front().at_s) return;
    merges_.pop_front();
  }
  const auto later =
      std::upper_bound(merges_.begin(), merges_.end(), merge.at_s,
                       [](double at_s, const SeenMerge& other) { return at_s < other.at_s; });
  merges_.insert(later, std::move(merge));
}

MergeTrail::Window MergeTrail::lately(double now_s) const {
  auto first =
      std::lower_bound(merges_.begin(), merges_.end(), now_s - kSpan_s,
                       [](const SeenMerge& merge, double at_s) { return merge.at_s < at_s; });
  if (merges_.end() - first < static_cast<std::ptrdiff_t>(kFewest))
    first = merges_.end() - static_cast<std::ptrdiff_t>(std::min(merges_.size(), kFewest));
  Window window;
  window.merges.assign(first, merges_.end());
  if (!window.merges.empty()) window.span_s = std::max(now_s - window.merges.front().at_s, 0.0);
  return window;
}

}  // namespace hearsay::runtime
