// SPDX-License-Identifier: Apache-2.0
// Exchanges that were started and not yet answered, with deadlines that follow the longest one seen: 8 times that,
// within the bounds of limits.hpp. Bounded by limits::kPendingExchanges.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "gossip/limits.hpp"
#include "gossip/peer_state.hpp"

namespace hearsay::gossip {

class Pending {
 public:
  struct Entry {
    PeerId partner;
    merge::SnapshotRef sent;  // what the partner's answer refers to
    Time started{0};
  };

  bool full() const noexcept { return entries_.size() >= limits::kPendingExchanges; }
  std::size_t size() const noexcept { return entries_.size(); }

  void add(std::uint64_t seq, Entry entry, Turn& turn) {
    turn.timer(turn.now + deadline(), seq);
    entries_.emplace(seq, std::move(entry));
  }

  // Removes and returns the exchange `seq` with `partner`; nothing when there is none (late or foreign answer).
  std::optional<Entry> answer(std::uint64_t seq, PeerId partner, Time now) {
    const auto found = entries_.find(seq);
    if (found == entries_.end() || found->second.partner != partner) return std::nullopt;
    longest_ = std::max(longest_, now - found->second.started);
    return remove(found);
  }
  std::optional<Entry> expire(std::uint64_t seq) {
    const auto found = entries_.find(seq);
    if (found == entries_.end()) return std::nullopt;
    return remove(found);
  }
  // Drops every exchange with `partner`; returns how many there were.
  std::size_t drop(PeerId partner) {
    return std::erase_if(entries_, [&](const auto& entry) { return entry.second.partner == partner; });
  }

 private:
  Time deadline() const {
    if (longest_ == Time{0}) return limits::kExchangeTimeoutFirst;
    return std::clamp<Time>(8 * longest_, limits::kExchangeTimeoutLeast, limits::kExchangeTimeoutMost);
  }
  Entry remove(std::map<std::uint64_t, Entry>::iterator found) {
    Entry entry = std::move(found->second);
    entries_.erase(found);
    return entry;
  }

  std::map<std::uint64_t, Entry> entries_;
  Time longest_{0};
};

// An exchange ended without an answer: the partner is not chosen again until it is heard of.
inline void give_up(const Pending::Entry& entry, std::uint64_t seq, PeerState& peer, Turn& turn) {
  Event half("merge.half");
  half.add("who", peer_name(entry.partner)).add("seq", static_cast<std::int64_t>(seq));
  turn.record(std::move(half.add("reason", std::string("no answer before the deadline"))));
  if (!peer.table.suspected(entry.partner)) return;
  Event lost("peer.lost");
  lost.add("who", peer_name(entry.partner)).add("reason", std::string("no answer"));
  turn.record(std::move(lost.add("last_seen_ns", static_cast<std::int64_t>(peer.table.last_heard(entry.partner).count()))));
}

}  // namespace hearsay::gossip
