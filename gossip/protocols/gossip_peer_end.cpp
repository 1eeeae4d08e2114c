// SPDX-License-Identifier: Apache-2.0
// The end of a gossiping peer's run: last answers, the notice that it has finished, lingering until
// everyone it can reach has finished too, the end game.
#include <algorithm>
#include <utility>

#include "gossip/limits.hpp"
#include "gossip/merging.hpp"
#include "gossip/protocols/gossip_peer.hpp"
#include "merge/policies/ema.hpp"

namespace hearsay::gossip {

void GossipPeer::drain(std::string reason, Turn& turn) {
  finish_reason_ = std::move(reason);
  phase_ = Phase::draining;
  if (finish_reason_ != "finished") merges_due_ = 0;  // told to stop: start nothing more
  peer_.counters.longest_gap_samples =
      std::max(peer_.counters.longest_gap_samples,
               peer_.counters.samples - peer_.counters.samples_at_last_merge);
  serve_inbox(turn);
  progress_when_answered(turn);
}

// Whoever waits for an answer goes on when it is in (or given up).
void GossipPeer::progress_when_answered(Turn& turn) {
  if (at_boundary()) start_due_merges(turn);
  if (!answered()) return;
  switch (phase_) {
    case Phase::waiting:
      check_votes();
      return stop_reason_ ? drain(*stop_reason_, turn) : train_block(turn);
    case Phase::draining: return announce_finished(turn);
    case Phase::lingering:
    case Phase::last_lingering: return linger(turn);
    case Phase::end_game: return end_game_round(turn);
    case Phase::joining:
    case Phase::training:
    case Phase::done: return;
  }
}

void GossipPeer::announce_finished(Turn& turn) {
  phase_ = phase_ == Phase::end_game ? Phase::last_lingering : Phase::lingering;
  for (std::uint32_t i = 0; i < peer_.settings.peers; ++i) {
    const PeerTable::State state = peer_.table.state(PeerId(i));
    if (PeerId(i) == peer_.settings.self || state == PeerTable::State::left ||
        state == PeerTable::State::absent) {
      continue;
    }
    turn.send(finished_frame(PeerId(i)));
  }
  lingering_since_ = turn.now;
  turn.timer(turn.now + limits::kLingerTick, kLingerTimer);
  linger(turn);
}

Frame GossipPeer::finished_frame(PeerId to) {
  Frame frame = control_frame(FrameKind::finished, to, 0, peer_);
  frame.converged = finish_reason_ == "converged";
  frame.end_game = phase_ == Phase::last_lingering;
  return frame;
}

void GossipPeer::linger(Turn& turn) {
  if (!peer_.table.all_settled()) return;
  if (phase_ == Phase::lingering && peer_.settings.end_game_rounds > 0) return enter_end_game(turn);
  leave(turn);
}

void GossipPeer::look_for_the_silent(Turn& turn) {
  if (!is_lingering()) return;
  auto silent = peer_.table.in_state(PeerTable::State::training);
  const auto suspected = peer_.table.in_state(PeerTable::State::suspected);
  silent.insert(silent.end(), suspected.begin(), suspected.end());
  for (const PeerId peer : silent) {
    const Time silence = turn.now - std::max(peer_.table.last_heard(peer), lingering_since_);
    if (silence < limits::kSilenceUntilGone) {
      turn.send(control_frame(FrameKind::ping, peer, 0, peer_));
      continue;
    }
    if (peer_.table.gone(peer)) turn.record(lost_event(peer, "silent", peer_));
  }
  turn.timer(turn.now + limits::kLingerTick, kLingerTimer);
  linger(turn);
}

// 2 ceil(log2 n) or so symmetric merges at alpha = 1/2 without training: pulls the models together
// for export.
void GossipPeer::enter_end_game(Turn& turn) {
  phase_ = Phase::end_game;
  turn.out.push_back(action::EndGameBegins{});
  use_end_game_policy();
  rounds_left_ = peer_.settings.end_game_rounds;
  peer_.settings.until_converged = false;
  peer_.table.reopen_finished();
  end_game_round(turn);
}

// Averages, with no other guard than that against norms that explode.
void GossipPeer::use_end_game_policy() {
  merge::Guards guards;
  guards.most_relative_norm = peer_.settings.policy->guards().most_relative_norm;
  peer_.settings.policy = std::make_shared<const merge::Policy>(
      std::make_unique<merge::Ema>(0.5, 0.5, merge::Ema::Shape::constant),
      std::vector<std::unique_ptr<merge::Modifier>>{}, guards);
  if (peer_.outer) peer_.outer->rest();
}

void GossipPeer::end_game_round(Turn& turn) {
  burst_.clear();
  while (rounds_left_ > 0) {
    --rounds_left_;
    const auto choice = choose_partner(turn.now);
    if (!choice) {
      ++peer_.counters.merges_skipped;
      continue;
    }
    ++peer_.counters.merges_started;
    const std::size_t first_new = turn.out.size();
    (end_exchange_ ? *end_exchange_ : *exchange_).start(choice->partner, peer_, turn);
    for (std::size_t i = first_new; i < turn.out.size(); ++i) {
      if (auto* send = std::get_if<action::Send>(&turn.out[i])) send->frame.end_game = true;
    }
    return;  // the next round follows the answer
  }
  announce_finished(turn);
}

// Told to go while others still train: they are told not to wait for answers.
void GossipPeer::leave_early(Turn& turn) {
  peer_.table.say_goodbye();
  for (const auto state : {PeerTable::State::training, PeerTable::State::suspected}) {
    for (const PeerId peer : peer_.table.in_state(state))
      turn.send(control_frame(FrameKind::left, peer, 0, peer_));
  }
  leave(turn);
}

void GossipPeer::leave(Turn& turn) {
  Event left("peer.left");
  turn.record(std::move(left.add("reason", finish_reason_)));
  turn.out.push_back(action::Finish{finish_reason_, true});
  phase_ = Phase::done;
}

}  // namespace hearsay::gossip
