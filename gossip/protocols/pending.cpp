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

// Mark the timers of a whole exchange, and of one that is overdue; no sequence number comes near.
constexpr std::uint64_t kAltogether = std::uint64_t{1} << 62, kOverdue = std::uint64_t{1} << 61;

void record_half(PeerId partner, std::uint64_t seq, const char* reason, Turn& turn) {
  Event half("merge.half");
  half.add("who", peer_name(partner)).add("seq", static_cast<std::int64_t>(seq));
  turn.record(std::move(half.add("reason", std::string(reason))));
}

}  // namespace

void PendingExchange::await(Entry entry, const PeerState& peer, Turn& turn) {
  HS_CHECK(!entry_);
  const Time quiet = deadlines_.quiet(entry.partner, peer.step_time);
  turn.timer_when_quiet(quiet, entry.partner, entry.seq);
  turn.timer(turn.now + deadlines_.most(entry.partner, peer.step_time), entry.seq | kAltogether);
  turn.timer_when_quiet(deadlines_.overdue(entry.partner, peer.step_time), entry.partner,
                        entry.seq | kOverdue);
  entry_ = std::move(entry);
}

void PendingExchange::hurry(PeerState& peer, Turn& turn) {
  if (!entry_ || !entry_->is_overdue) return;
  const PeerId partner = entry_->partner;
  record_half(partner, entry_->seq, "overdue, and the next merge is due", turn);
  entry_.reset();
  deadlines_.stayed_quiet(partner);
  missed(partner, peer);
  // Whoever says other things has lost a message; who says nothing at all may be gone.
  if (turn.now - peer.table.last_heard(partner) < limits::kQuietLeast) return;
  if (peer.table.failed(partner, turn.now, peer.backoff))
    turn.record(lost_event(partner, "no answer", peer));
}

void PendingExchange::push(PeerId partner, double mass, bool wait, PeerState& peer, Turn& turn) {
  const Spoken spoken = speak(own_words(peer, turn), partner, nullptr, peer);
  Frame frame = weights_frame(FrameKind::push, partner, spoken, peer);
  frame.mass = mass;
  frame.wants_ack = wait;
  turn.record(sent_event(frame, peer));
  if (wait) await({frame.seq, partner, nullptr, turn.now}, peer, turn);
  turn.send(std::move(frame));
}

std::optional<PendingExchange::Entry> PendingExchange::answer(const Frame& frame, PeerState& peer,
                                                              Time now) {
  if (!entry_ || entry_->seq != frame.answers || entry_->partner != frame.from) return std::nullopt;
  deadlines_.answered(frame.from, now - entry_->started);
  peer.table.answered(frame.from);
  return std::exchange(entry_, std::nullopt);
}

void PendingExchange::timeout(std::uint64_t id, PeerState& peer, Turn& turn) {
  const std::uint64_t seq = id & ~(kAltogether | kOverdue);
  if (!entry_ || entry_->seq != seq) return;  // answered meanwhile
  if ((id & kOverdue) != 0) {
    entry_->is_overdue = true;
    return;
  }
  const PeerId partner = entry_->partner;
  const Time took = turn.now - entry_->started;
  entry_.reset();
  const bool slow = (id & kAltogether) != 0;
  slow ? deadlines_.was_too_slow(partner) : deadlines_.stayed_quiet(partner);
  if (slow) adapt(took, peer, turn);
  missed(partner, peer);
  record_half(partner, seq, slow ? "took too long" : "no answer before the deadline", turn);
  if (peer.table.failed(partner, turn.now, peer.backoff))
    turn.record(lost_event(partner, slow ? "too slow" : "no answer", peer));
}

void PendingExchange::partner_down(PeerId who, PeerState& peer, Turn& turn) {
  if (!entry_ || entry_->partner != who) return;
  record_half(who, entry_->seq, "partner gone", turn);
  missed(who, peer);
  entry_.reset();
  peer.table.failed(who, turn.now, peer.backoff);
}

void PendingExchange::give_up(const char* reason, Turn& turn) {
  if (entry_) record_half(entry_->partner, entry_->seq, reason, turn);
  entry_.reset();
}

}  // namespace hearsay::gossip
