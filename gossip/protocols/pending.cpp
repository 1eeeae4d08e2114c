// SPDX-License-Identifier: Apache-2.0
#include "gossip/protocols/pending.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "gossip/limits.hpp"
#include "gossip/merging.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

void record_half(PeerId partner, std::uint64_t seq, const char* reason, Turn& turn) {
  Event half("merge.half");
  half.add("who", peer_name(partner)).add("seq", static_cast<std::int64_t>(seq));
  turn.record(std::move(half.add("reason", std::string(reason))));
}

}  // namespace

void PendingExchange::await(Entry entry, Turn& turn) {
  HS_CHECK(!entry_);
  turn.timer(turn.now + deadline(), entry.seq);
  entry_ = std::move(entry);
}

void PendingExchange::push(PeerId partner, double mass, bool wait, PeerState& peer, Turn& turn) {
  Frame frame = weights_frame(FrameKind::push, partner, turn.model.snapshot(), peer);
  frame.mass = mass;
  frame.wants_ack = wait;
  turn.record(sent_event(frame));
  if (wait) await({frame.seq, partner, nullptr, turn.now}, turn);
  turn.send(std::move(frame));
}

std::optional<PendingExchange::Entry> PendingExchange::answer(std::uint64_t seq, PeerId partner,
                                                              Time now) {
  if (!entry_ || entry_->seq != seq || entry_->partner != partner) return std::nullopt;
  longest_ = std::max(longest_, now - entry_->started);
  return std::exchange(entry_, std::nullopt);
}

void PendingExchange::timeout(std::uint64_t seq, PeerState& peer, Turn& turn) {
  if (!entry_ || entry_->seq != seq) return;  // answered meanwhile
  const PeerId partner = entry_->partner;
  longest_ = std::max(longest_, (turn.now - entry_->started) / 4);  // the next deadline: twice this
  entry_.reset();
  record_half(partner, seq, "no answer before the deadline", turn);
  if (peer.table.suspected(partner)) turn.record(lost_event(partner, "no answer", peer));
}

void PendingExchange::partner_down(PeerId who, PeerState&, Turn& turn) {
  if (!entry_ || entry_->partner != who) return;
  record_half(who, entry_->seq, "partner gone", turn);
  entry_.reset();
}

Time PendingExchange::deadline() const {
  if (longest_ == Time{0}) return limits::kExchangeTimeoutFirst;
  return std::clamp<Time>(8 * longest_, limits::kExchangeTimeoutLeast,
                          limits::kExchangeTimeoutMost);
}

}  // namespace hearsay::gossip
