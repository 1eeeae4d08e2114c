// SPDX-License-Identifier: Apache-2.0
#include "gossip/protocols/pending.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "gossip/limits.hpp"
#include "gossip/merging.hpp"

namespace hearsay::gossip {
namespace {

void record_half(PeerId partner, std::uint64_t seq, const char* reason, Turn& turn) {
  Event half("merge.half");
  half.add("who", peer_name(partner)).add("seq", static_cast<std::int64_t>(seq));
  turn.record(std::move(half.add("reason", std::string(reason))));
}

}  // namespace

bool PendingExchange::full() const { return entries_.size() >= limits::kPendingExchanges; }

void PendingExchange::await(std::uint64_t seq, Entry entry, Turn& turn) {
  turn.timer(turn.now + deadline(), seq);
  entries_.emplace(seq, std::move(entry));
}

std::optional<PendingExchange::Entry> PendingExchange::answer(std::uint64_t seq, PeerId partner,
                                                              Time now) {
  const auto found = entries_.find(seq);
  if (found == entries_.end() || found->second.partner != partner) return std::nullopt;
  longest_ = std::max(longest_, now - found->second.started);
  Entry entry = std::move(found->second);
  entries_.erase(found);
  return entry;
}

void PendingExchange::timeout(std::uint64_t seq, PeerState& peer, Turn& turn) {
  const auto found = entries_.find(seq);
  if (found == entries_.end()) return;  // answered meanwhile
  const PeerId partner = found->second.partner;
  longest_ = std::max(
      longest_, (turn.now - found->second.started) / 4);  // the next deadline is twice this one
  entries_.erase(found);
  record_half(partner, seq, "no answer before the deadline", turn);
  if (peer.table.suspected(partner)) turn.record(lost_event(partner, "no answer", peer));
}

void PendingExchange::partner_down(PeerId who, PeerState&, Turn& turn) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->second.partner != who) {
      ++entry;
      continue;
    }
    record_half(who, entry->first, "partner gone", turn);
    entry = entries_.erase(entry);
  }
}

Time PendingExchange::deadline() const {
  if (longest_ == Time{0}) return limits::kExchangeTimeoutFirst;
  return std::clamp<Time>(8 * longest_, limits::kExchangeTimeoutLeast,
                          limits::kExchangeTimeoutMost);
}

}  // namespace hearsay::gossip
