// SPDX-License-Identifier: Apache-2.0
// Exchanges that were started and not yet answered, and what every exchange kind does about them: a
// deadline of 8 times the longest answer seen (doubled after each miss, within the bounds of
// limits.hpp), a line when one ends half done, and suspicion of the partner. Bounded by
// limits::kPendingExchanges.
#pragma once

#include <map>
#include <optional>

#include "gossip/protocols/exchange.hpp"

namespace hearsay::gossip {

class PendingExchange : public Exchange {
 public:
  void timeout(std::uint64_t seq, PeerState& peer, Turn& turn) final;
  void partner_down(PeerId who, PeerState& peer, Turn& turn) final;
  std::size_t unanswered() const final { return entries_.size(); }
  bool awaits(std::uint64_t seq) const final { return entries_.count(seq) > 0; }

 protected:
  struct Entry {
    PeerId partner;
    merge::SnapshotRef sent;  // what the partner's answer refers to; null when it needs none
    Time started{0};
  };
  bool full() const;
  void await(std::uint64_t seq, Entry entry, Turn& turn);
  // Removes and returns the exchange `seq` with `partner`; nothing when there is none (late or
  // foreign answer).
  std::optional<Entry> answer(std::uint64_t seq, PeerId partner, Time now);

 private:
  Time deadline() const;

  std::map<std::uint64_t, Entry> entries_;
  Time longest_{0};
};

}  // namespace hearsay::gossip
