// SPDX-License-Identifier: Apache-2.0
// How far the models of the last senders lay from the own one: the scale that norm clipping needs.
// One number a sender, so that nobody's many messages outvote the others. Cost: O(16).
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "gossip/archive.hpp"
#include "kernels/core/strong_id.hpp"

namespace hearsay::gossip {

class Displacements {
 public:
  // The norm of what `from` sent, before any clipping, accepted or not.
  void add(kernels::PeerId from, double norm) {
    std::erase_if(newest_, [&](const auto& entry) { return entry.first == from; });
    if (newest_.size() == kSenders) newest_.erase(newest_.begin());
    newest_.emplace_back(from, norm);
  }
  // Twice the median; before three senders are known twice `own`, the own movement.
  double clip_radius(double own) const {
    if (newest_.size() < 3) return 2.0 * own;
    std::vector<double> norms;
    for (const auto& [from, norm] : newest_) norms.push_back(norm);
    const auto middle = norms.begin() + static_cast<std::ptrdiff_t>((norms.size() - 1) / 2);
    std::nth_element(norms.begin(), middle, norms.end());
    return 2.0 * *middle;
  }
  void state(Archive& a) { a("newest", newest_); }

 private:
  static constexpr std::size_t kSenders = 16;
  std::vector<std::pair<kernels::PeerId, double>> newest_;  // in order of arrival
};

}  // namespace hearsay::gossip
