// SPDX-License-Identifier: Apache-2.0
#include "gossip/peer_table.hpp"

#include <algorithm>
#include <cmath>

#include "gossip/limits.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

using State = PeerTable::State;

constexpr float kIntervalWeight = 0.125f;  // of the newest interval in its mean
constexpr float kBeat_s = std::chrono::duration<float>(limits::kBeat).count();
constexpr double kSuspectAfter = 5.0, kGoneAfter = 20.0;  // mean intervals

bool is_away(State state) { return state != State::training && state != State::finished; }
bool is_unsettled(State state) { return state == State::training || state == State::suspected; }

Time seconds(double s) { return Time(static_cast<std::int64_t>(1e9 * s)); }

// first x 2^(count - 1) up to `most`, and up to half as much again, so that nobody acts in step.
Time backed_off(Time first, Time most, std::uint32_t count, kernels::Rng& rng) {
  const std::uint32_t doublings = std::min(count > 0 ? count - 1 : 0u, 16u);
  const Time wait = std::min<Time>(first * (std::int64_t{1} << doublings), most);
  return wait + seconds(0.5 * rng.uniform() * 1e-9 * static_cast<double>(wait.count()));
}

}  // namespace

PeerTable::PeerTable(PeerId self, std::uint32_t peers, std::uint32_t incarnation,
                     const std::vector<bool>& at_start)
    : self_(self), entries_(peers, Entry{}) {
  HS_CHECK(self.value < peers && (at_start.empty() || at_start.size() == peers));
  entries_.change(self.value).incarnation = incarnation;
  for (std::uint32_t i = 0; i < at_start.size(); ++i) {
    if (i != self.value && !at_start[i]) entries_.change(i).is = State::absent;
  }
  count();
}

void PeerTable::count() {
  unsettled_ = out_of_reach_ = absent_ = 0;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    if (i == self_.value) continue;
    const State is = entries_[i].is;
    if (is_unsettled(is)) ++unsettled_;
    if (is_away(is)) ++out_of_reach_;
    if (is == State::absent) ++absent_;
  }
}

void PeerTable::move(PeerId peer, State to) {
  HS_CHECK(peer != self_ && peer.value < entries_.size());
  State& state = entries_.change(peer.value).is;
  if (is_unsettled(state)) --unsettled_;
  if (is_away(state)) --out_of_reach_;
  if (state == State::absent) --absent_;
  state = to;
  if (is_unsettled(to)) ++unsettled_;
  if (is_away(to)) ++out_of_reach_;
  if (to == State::absent) ++absent_;
}

std::uint32_t PeerTable::present() const noexcept {
  return static_cast<std::uint32_t>(entries_.size() - absent_);
}

bool PeerTable::may_merge(PeerId peer, Time now) const {
  if (!reachable(peer)) return false;
  const auto trouble = troubles_.find(peer.value);
  return trouble == troubles_.end() || trouble->second.avoid_until <= now;
}

void PeerTable::sign_of_life(Entry& entry, Time now) {
  const auto passed = std::chrono::duration<float>(now - entry.last_heard).count();
  entry.interval_s += kIntervalWeight * (passed - entry.interval_s);
  entry.last_heard = now;
}

PeerTable::News PeerTable::heard(PeerId peer, Time now) {
  Entry& entry = entries_.change(peer.value);
  entry.last_heard = now;
  entry.by_silence = false;
  if (entry.is == State::absent) {
    move(peer, State::training);
    return News::joined;
  }
  if (entry.is != State::gone && entry.is != State::suspected) return News::none;
  move(peer, State::training);
  if (const auto trouble = troubles_.find(peer.value); trouble != troubles_.end())
    trouble->second.retry_at = trouble->second.retry_wait = Time{0};
  return News::back;
}

PeerTable::News PeerTable::begin_again(PeerId peer, const Pulse& pulse, Time now) {
  Entry& entry = entries_.change(peer.value);
  const bool was_absent = entry.is == State::absent;
  entry.incarnation = pulse.incarnation;
  entry.beat = pulse.beat;
  entry.by_silence = false;
  entry.interval_s = kBeat_s;
  entry.last_heard = now;
  troubles_.erase(peer.value);
  move(peer, pulse.beat == Pulse::kLeft ? State::left : State::training);
  return pulse.beat == Pulse::kLeft && was_absent ? News::none : News::joined;
}

PeerTable::News PeerTable::learn(const Pulse& pulse, Time now) {
  if (pulse.peer.value >= entries_.size()) return News::none;
  const Entry& known = entries_[pulse.peer.value];
  if (pulse.peer == self_)
    return pulse.incarnation > known.incarnation ? News::superseded : News::none;
  if (pulse.incarnation < known.incarnation) return News::none;
  if (pulse.incarnation > known.incarnation || known.is == State::absent)
    return begin_again(pulse.peer, pulse, now);
  if (pulse.beat <= known.beat) return News::none;
  Entry& entry = entries_.change(pulse.peer.value);
  entry.beat = pulse.beat;
  if (entry.is == State::left) return News::none;
  if (pulse.beat == Pulse::kLeft) {
    move(pulse.peer, State::left);
    return News::none;
  }
  sign_of_life(entry, now);
  if (!entry.by_silence) return News::none;
  entry.by_silence = false;
  move(pulse.peer, State::training);
  return News::back;
}

void PeerTable::beat() {
  Entry& own = entries_.change(self_.value);
  if (own.beat < Pulse::kLeft - 1) ++own.beat;
}

void PeerTable::say_goodbye() { entries_.change(self_.value).beat = Pulse::kLeft; }

std::vector<Pulse> PeerTable::pulses(std::size_t limit) {
  std::vector<Pulse> out;
  const auto add = [&](std::uint32_t i) {
    const Entry& entry = entries_[i];
    out.push_back({PeerId(i), entry.incarnation, entry.beat});
  };
  out.reserve(std::min(limit, entries_.stored() + 1));
  add(self_.value);
  // Of one that was never heard of there is nothing to say.
  for (std::size_t looked = 0; looked < entries_.stored() && out.size() < limit; ++looked) {
    const std::uint32_t i = entries_.stored_from(next_pulse_);
    next_pulse_ = (i + 1) % entries_.size();
    if (i != self_.value && entries_[i].is != State::absent) add(i);
  }
  return out;
}

void PeerTable::finished(PeerId peer) {
  if (state(peer) != State::left) move(peer, State::finished);
}

void PeerTable::left(PeerId peer) {
  entries_.change(peer.value).beat = Pulse::kLeft;
  troubles_.erase(peer.value);
  move(peer, State::left);
}

bool PeerTable::gone(PeerId peer) {
  Entry& entry = entries_.change(peer.value);
  if (entry.is == State::left || entry.is == State::absent) return false;
  entry.by_silence = false;
  if (entry.is == State::gone) return false;
  troubles_[peer.value];
  move(peer, State::gone);
  return true;
}

bool PeerTable::failed(PeerId peer, Time now, kernels::Rng& rng) {
  if (state(peer) == State::left || state(peer) == State::absent) return false;
  Trouble& trouble = troubles_[peer.value];
  if (++trouble.failures > 1) {
    trouble.avoid_until =
        now + backed_off(limits::kAvoidFirst, limits::kAvoidMost, trouble.failures - 1, rng);
  }
  entries_.change(peer.value).by_silence = false;
  if (state(peer) == State::finished || state(peer) == State::gone) return false;
  const bool is_news = state(peer) == State::training;
  if (is_news) move(peer, State::suspected);
  return is_news;
}

void PeerTable::busy(PeerId peer, Time now, kernels::Rng& rng) {
  Trouble& trouble = troubles_[peer.value];
  trouble.avoid_until =
      now + backed_off(limits::kBusyFirst, limits::kAvoidMost, ++trouble.refusals, rng);
}

void PeerTable::answered(PeerId peer) { troubles_.erase(peer.value); }

// Where everybody's pulses do not fit into a frame, signs of life come as much more rarely.
double PeerTable::expected_interval_s(const Entry& entry) const {
  const double least =
      kBeat_s * std::max(1.0, static_cast<double>(entries_.size()) / limits::kPulses);
  return std::max<double>(least, entry.interval_s);
}

std::optional<PeerTable::Change> PeerTable::silence(std::uint32_t i, Time now) {
  const Entry& entry = entries_[i];
  const PeerId peer(i);
  if (peer == self_ || !(reachable(peer) || entry.is == State::suspected)) return std::nullopt;
  const Time silence = now - entry.last_heard;
  const double mean_s = expected_interval_s(entry);
  const bool gone = silence > seconds(kGoneAfter * mean_s);
  // Who has finished is waited for by nobody and merges little: only long silence counts.
  const bool suspected = entry.is == State::training && silence > seconds(kSuspectAfter * mean_s);
  if (!gone && !suspected) return std::nullopt;
  entries_.change(i).by_silence = true;
  troubles_[i];
  move(peer, gone ? State::gone : State::suspected);
  return Change{peer, state(peer), silence};
}

std::vector<PeerTable::Change> PeerTable::silences(Time now) {
  const Entry& unheard = entries_.common();
  if (now - unheard.last_heard > seconds(kSuspectAfter * expected_interval_s(unheard)))
    entries_.store_all();
  std::vector<std::uint32_t> looked_at;
  entries_.for_each_stored([&](std::uint32_t i, const Entry&) { looked_at.push_back(i); });
  std::vector<Change> changes;
  for (const std::uint32_t i : looked_at) {
    if (const auto change = silence(i, now)) changes.push_back(*change);
  }
  return changes;
}

void PeerTable::excuse(Time gap) {
  entries_.common().last_heard += gap;
  entries_.for_each_stored([&](std::uint32_t, Entry& entry) { entry.last_heard += gap; });
}

std::vector<PeerId> PeerTable::retries(Time now, kernels::Rng& rng) {
  std::vector<PeerId> due;
  for (auto trouble = troubles_.begin(); trouble != troubles_.end();) {
    const PeerId peer(trouble->first);
    Trouble& t = trouble->second;
    if (reachable(peer) && t.avoid_until <= now && t.failures == 0) {
      trouble = troubles_.erase(trouble);  // nothing left to remember
      continue;
    }
    ++trouble;
    if (reachable(peer) || t.retry_at > now) continue;
    due.push_back(peer);
    t.retry_wait = std::min<Time>(t.retry_wait == Time{0} ? limits::kRetryFirst : 2 * t.retry_wait,
                                  limits::kRetryMost);
    t.retry_at = now + backed_off(t.retry_wait, limits::kRetryMost, 1, rng);
  }
  return due;
}

void PeerTable::reopen_finished() {
  for (const PeerId peer : in_state(State::finished)) move(peer, State::training);
}

void PeerTable::state(Archive& archive) {
  const std::uint32_t peers = entries_.size();
  archive("entries", entries_)("troubles", troubles_)("next_pulse", next_pulse_);
  if (!archive.loading()) return;
  const bool fits = next_pulse_ < peers && (troubles_.empty() || troubles_.rbegin()->first < peers);
  if (!fits) archive.fail("troubles", "a peer that does not exist");
  const auto check = [&](const Entry& entry) {
    if (entry.is > State::left) archive.fail("entries", "a state that does not exist");
  };
  check(entries_.common());
  entries_.for_each_stored([&](std::uint32_t, const Entry& entry) { check(entry); });
  count();
}

std::vector<PeerId> PeerTable::in_state(State wanted) const {
  std::vector<PeerId> peers;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    if (PeerId(i) != self_ && entries_[i].is == wanted) peers.push_back(PeerId(i));
  }
  return peers;
}

}  // namespace hearsay::gossip
