// SPDX-License-Identifier: Apache-2.0
// What happens next in virtual time. Ordered by (time, order of insertion), so that equal times
// keep their order and a seed is a history. Small keys in the heap, payloads in a slab with free
// slots: a heap of variants would move them log n times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "gossip/protocol.hpp"

namespace hearsay::runtime {

template <typename Payload>
class EventHeap {
 public:
  void push(gossip::Time at, Payload payload) {
    std::uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slab_.size());
      slab_.push_back(std::move(payload));
      used_.push_back(true);
    } else {
      slot = free_.back();
      free_.pop_back();
      slab_[slot] = std::move(payload);
      used_[slot] = true;
    }
    keys_.push({at, next_++, slot});
  }

  bool empty() const noexcept { return keys_.empty(); }
  gossip::Time next_time() const { return keys_.top().at; }

  // Everything that waits, in no particular order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < slab_.size(); ++i) {
      if (used_[i]) visit(slab_[i]);
    }
  }

  // What waits, by the order of its turn, with its order number: visit(at, order, payload).
  template <typename Visit>
  void for_each_in_turn(Visit visit) const {
    for (auto keys = keys_; !keys.empty(); keys.pop())
      visit(keys.top().at, keys.top().order, slab_[keys.top().slot]);
  }
  // The order number of the next push.
  std::uint64_t next_order() const noexcept { return next_; }
  // An empty heap takes up what another one held: everything with its own order number, all below
  // `next`.
  void restore(gossip::Time at, std::uint64_t order, Payload payload) {
    const std::uint64_t next = next_;
    next_ = order;
    push(at, std::move(payload));
    next_ = std::max(next, order + 1);
  }
  void set_next_order(std::uint64_t next) { next_ = std::max(next_, next); }

  std::pair<gossip::Time, Payload> pop() {
    const Key key = keys_.top();
    keys_.pop();
    free_.push_back(key.slot);
    used_[key.slot] = false;
    return {key.at, std::move(slab_[key.slot])};
  }

 private:
  struct Key {
    gossip::Time at;
    std::uint64_t order;
    std::uint32_t slot;
    bool operator>(const Key& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  std::priority_queue<Key, std::vector<Key>, std::greater<>> keys_;
  std::vector<Payload> slab_;
  std::vector<bool> used_;
  std::vector<std::uint32_t> free_;
  std::uint64_t next_ = 0;
};

}  // namespace hearsay::runtime
