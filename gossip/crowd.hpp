// SPDX-License-Identifier: Apache-2.0
// Models of distinct senders, held until a crowd rule merges their centre (merge/crowd.hpp). A
// newer model of a sender takes the place of its older one. Memory: 4 B a value and model held.
#pragma once

#include <utility>
#include <vector>

#include "gossip/frame.hpp"

namespace hearsay::gossip {

class Crowd {
 public:
  void add(PeerId from, merge::SnapshotRef values) {
    std::erase_if(held_, [&](const auto& entry) { return entry.first == from; });
    held_.emplace_back(from, std::move(values));
  }
  std::size_t size() const noexcept { return held_.size(); }
  std::vector<merge::SnapshotRef> take() {
    std::vector<merge::SnapshotRef> models;
    for (auto& [from, values] : std::exchange(held_, {})) models.push_back(std::move(values));
    return models;
  }
  void state(Archive& a) {
    a("held", held_);
    for (const auto& [from, values] : held_) {
      if (!values) a.fail("held", "one has no weights");
    }
  }

 private:
  std::vector<std::pair<PeerId, merge::SnapshotRef>> held_;  // in order of arrival
};

}  // namespace hearsay::gossip
