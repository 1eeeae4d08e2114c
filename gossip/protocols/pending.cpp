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
  turn.timer_when_quiet(deadlines_.overdue(peer.step_time), entry.partner, entry.seq | kOverdue);
  entry_ = std::move(entry);
}

void PendingExchange::hurry(PeerState& peer, Turn& turn) {
  if (!entry_ || !entry_->is_overdue) return;
  if (late_.size() == kLate) {
    const Entry& oldest = late_.front();
    if (turn.now - oldest.started < kLateLeast) return;
    forgotten_.push_back({oldest.seq, oldest.partner, oldest.started, false});
    if (forgotten_.size() > kForgotten) forgotten_.pop_front();
    forget_late(0, "overdue, and so are newer ones", peer, turn);
  }
  late_.push_back(*std::exchange(entry_, std::nullopt));
}

std::vector<PeerId> PendingExchange::overdue() const {
  std::vector<PeerId> partners;
  for (const Entry& each : late_) partners.push_back(each.partner);
  return partners;
}

bool PendingExchange::answers_forgotten(const Frame& frame, PeerState& peer, Turn& turn) {
  const auto found = std::find_if(forgotten_.begin(), forgotten_.end(), [&](const Forgotten& each) {
    return each.seq == frame.answers && each.partner == frame.from;
  });
  if (found == forgotten_.end()) return false;
  if (std::exchange(found->answered, true)) return true;  // came twice
  const Time took = turn.now - found->started;
  if (took > deadlines_.most(frame.from, peer.step_time)) return true;  // was gone meanwhile
  deadlines_.answered(frame.from, took);
  note_time(found->started, peer, turn);
  return true;
}

void PendingExchange::note_time(Time started, PeerState& peer, Turn& turn) {
  if (started < adapted_) return;
  if (adapt(turn.now - started, peer, turn)) adapted_ = turn.now;
}

std::optional<std::size_t> PendingExchange::late_with(std::uint64_t seq) const {
  for (std::size_t i = 0; i < late_.size(); ++i)
    if (late_[i].seq == seq) return i;
  return std::nullopt;
}

void PendingExchange::forget_late(std::size_t which, const char* reason, PeerState& peer,
                                  Turn& turn) {
  const PeerId partner = late_[which].partner;
  record_half(partner, late_[which].seq, reason, turn);
  late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(which));
  deadlines_.stayed_quiet(partner);
  missed(partner, peer);
  // Whoever shows signs of life has lost a message; who shows none may be gone.
  if (turn.now - peer.table.last_heard(partner) < 2 * limits::kBeat) return;
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
  Entry ended;
  const auto late = late_with(frame.answers);
  if (entry_ && entry_->seq == frame.answers && entry_->partner == frame.from) {
    ended = *std::exchange(entry_, std::nullopt);
  } else if (late && late_[*late].partner == frame.from) {
    ended = std::move(late_[*late]);
    late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(*late));
  } else {
    return std::nullopt;
  }
  if (frame.kind == FrameKind::busy)
    deadlines_.refused(frame.from);
  else
    deadlines_.answered(frame.from, now - ended.started);
  peer.table.answered(frame.from);
  if (ended.is_overdue) --missing_;
  if (entry_) ++entry_->crossed;
  for (Entry& other : late_) ++other.crossed;
  return ended;
}

void PendingExchange::timeout(std::uint64_t id, PeerState& peer, Turn& turn) {
  const std::uint64_t seq = id & ~(kAltogether | kOverdue);
  const bool slow = (id & kAltogether) != 0, overdue = (id & kOverdue) != 0;
  const char* const reason = slow ? "took too long" : "no answer before the deadline";
  const auto late = late_with(seq);
  if (late && !overdue) return forget_late(*late, reason, peer, turn);
  if (!entry_ || entry_->seq != seq) return;  // answered meanwhile
  note_missing(*entry_);
  if (overdue) {
    entry_->is_overdue = true;
    deadlines_.was_overdue();
    return;
  }
  const PeerId partner = entry_->partner;
  const Time started = entry_->started;
  entry_.reset();
  slow ? deadlines_.was_too_slow(partner) : deadlines_.stayed_quiet(partner);
  if (slow) note_time(started, peer, turn);
  missed(partner, peer);
  record_half(partner, seq, reason, turn);
  if (peer.table.failed(partner, turn.now, peer.backoff))
    turn.record(lost_event(partner, slow ? "too slow" : "no answer", peer));
}

void PendingExchange::partner_down(PeerId who, PeerState& peer, Turn& turn) {
  const auto ends = [&](const Entry& entry) {
    if (entry.partner != who) return false;
    record_half(who, entry.seq, "partner gone", turn);
    missed(who, peer);
    note_missing(entry);
    peer.table.failed(who, turn.now, peer.backoff);
    return true;
  };
  if (entry_ && ends(*entry_)) entry_.reset();
  std::erase_if(late_, ends);
}

void PendingExchange::give_up(const char* reason, Turn& turn) {
  if (entry_) late_.push_back(*std::exchange(entry_, std::nullopt));
  for (const Entry& each : std::exchange(late_, {}))
    record_half(each.partner, each.seq, reason, turn);
}

}  // namespace hearsay::gossip
