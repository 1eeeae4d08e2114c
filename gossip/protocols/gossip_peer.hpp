// SPDX-License-Identifier: Apache-2.0
// A gossiping peer: trains a block of K, merges with one neighbour, draws the next K, and never
// waits for a barrier. At every mini-batch boundary it first applies what has arrived, then does
// what is due. After its last epoch it goes on answering until everyone it can reach has finished
// too.
//
//   (joining ->) training -> (waiting) -> draining -> lingering -> (end game -> last lingering)
//   -> done
// Sources: gossip_peer.cpp (training and merging), _join.cpp (beginning late or again, also
// after its weights are no numbers any more),
// _members.cpp (who is there), _sketches.cpp (who is alike), _end.cpp (finishing).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gossip/inbox.hpp"
#include "gossip/peer_state.hpp"
#include "gossip/protocols/exchange.hpp"
#include "gossip/selectors/selector.hpp"

namespace hearsay::gossip {

class GossipPeer final : public Protocol {
 public:
  explicit GossipPeer(const GossipSettings& settings);

  void on(const Input& input, Time now, LocalModel& model, Actions& out) override;
  const Counters& counters() const override { return peer_.counters; }
  void state(Archive& archive) override;
  void for_each_waiting(const std::function<void(const Frame&)>& visit) const override {
    inbox_.for_each(visit);
  }
  std::uint32_t partners_alive() const override {
    return peer_.settings.peers - 1 - static_cast<std::uint32_t>(peer_.table.out_of_reach());
  }
  void recollect(const Holdings& held) override {
    if (peer_.transfers) peer_.transfers->restore(held);
  }
  std::vector<std::uint32_t> communities() const override {
    return peer_.steering ? peer_.steering->labels() : std::vector<std::uint32_t>{};
  }

 private:
  static constexpr std::uint64_t kLingerTimer = ~std::uint64_t{0};  // no exchange gets this number
  static constexpr std::uint64_t kBeatTimer = kLingerTimer - 1;

  enum class Phase {
    joining,
    training,
    waiting,
    draining,
    lingering,
    end_game,
    last_lingering,
    done
  };

  struct Block {  // accumulators of the block in progress
    std::uint64_t steps_left = 0, steps = 0, samples = 0, correct = 0;
    double loss_sum = 0.0, lr_sum = 0.0;
    Time started{0};
    void state(Archive& a) {
      a("steps_left", steps_left)("steps", steps)("samples", samples)("correct", correct);
      a("loss_sum", loss_sum)("lr_sum", lr_sum)("started", started);
    }
  };

  void handle(const input::Start&, Turn& turn);
  void handle(const input::StepDone& done, Turn& turn);
  void handle(const input::FrameIn& in, Turn& turn);
  void handle(const input::Timer& timer, Turn& turn);
  void handle(const input::PeerDown& down, Turn& turn);
  void handle(const input::Stop& stop, Turn& turn);

  void begin_block(Turn& turn);
  void end_block(Turn& turn);
  void train_block(Turn& turn);
  void start_due_merges(Turn& turn);
  void pay(const Turn& turn);
  bool may_answer(const Frame& frame, const Turn& turn);
  void start_merge(Turn& turn);
  void forgo_merges();
  std::optional<Choice> choose_partner(Time now);
  bool answered() const;  // nothing due, nothing on its way
  void serve_inbox(Turn& turn);
  void restore(const std::string& detail, Turn& turn);
  void diverged(const std::string& detail, Turn& turn);

  void examples_came(const Frame& frame, Turn& turn);
  void serve_examples(Turn& turn);
  void accept_weights(Frame frame, Turn& turn);
  void refuse_weights(Frame frame, const char* why, Turn& turn);
  void note_step_time(Turn& turn);

  void note_direction(Turn& turn);
  void note_epoch(Turn& turn);
  std::vector<PeerId> strangers(Time now) const;
  void meet_strangers(Turn& turn);
  void answer_ping(const Frame& ping, Turn& turn);

  void record_joined(const char* reason, Turn& turn);
  void start_late(Turn& turn);
  void start_again(Turn& turn);
  void seek_weights(Turn& turn);
  void ask_a_donor(Turn& turn);
  void donor_failed(const char* why, Turn& turn);
  void begin_alone(Turn& turn);
  void adopt(const Frame& frame, Turn& turn);
  void fetch_asked(const Frame& frame, Turn& turn);
  void serve_fetches(Turn& turn);

  bool take_pulses(const Frame& frame, Turn& turn);
  void tell(PeerTable::News news, PeerId who, const char* how, Turn& turn);
  void superseded(const Pulse& pulse, Turn& turn);
  void beat(Turn& turn);
  void ping_somebody(Turn& turn);

  void check_votes();
  void partner_down(PeerId who, Turn& turn);
  void drain(std::string reason, Turn& turn);
  void progress_when_answered(Turn& turn);
  void announce_finished(Turn& turn);
  Frame finished_frame(PeerId to);
  void linger(Turn& turn);
  void look_for_the_silent(Turn& turn);
  void enter_end_game(Turn& turn);
  void use_end_game_policy();
  void end_game_round(Turn& turn);
  void leave_early(Turn& turn);
  void leave(Turn& turn);
  Exchange& exchange_for(const Frame& frame);
  bool at_boundary() const { return phase_ != Phase::training; }
  bool is_lingering() const {
    return phase_ == Phase::lingering || phase_ == Phase::last_lingering;
  }

  PeerState peer_;
  Blocks blocks_;
  Selector selector_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Exchange> end_exchange_;  // pairwise, for the end game of one-way protocols
  Inbox inbox_;
  std::deque<Frame> example_frames_;  // that wait for the next boundary
  Phase phase_ = Phase::training;
  Block block_;
  std::vector<PeerId> burst_;   // partners of this boundary's merges so far
  std::size_t merges_due_ = 0;  // merges of this boundary still to be started
  std::int64_t made_up_ = 0;    // merges in the place of such that had come to nothing (missing())
  std::size_t paid_ = 0;        // actions of this turn that --bandwidth has been charged for
  std::optional<std::string> stop_reason_;
  std::string finish_reason_ = "finished";
  std::uint32_t majority_merges_ = 0, merges_seen_ = 0;
  std::uint32_t rounds_left_ = 0;
  struct Fetch {
    PeerId donor;
    std::uint64_t seq = 0;
    void state(Archive& a) { a("donor", donor)("seq", seq); }
  };
  std::optional<Fetch> fetch_;  // of this late joiner, unanswered
  std::vector<PeerId> asked_;   // in this round of questions
  Time joining_since_{0};
  std::uint32_t restores_ = 0;
  bool restoring_ = false;  // joining again, because the own weights are no numbers any more
  kernels::Rng donor_rng_;
  std::vector<std::pair<PeerId, std::uint64_t>> fetches_;  // asked of this peer, until the boundary
  Time last_beat_{0};
  std::uint64_t frames_sent_ = 0, frames_at_beat_ = 0;
  bool started_ =
      false;             // Start has come; when it comes again, this peer goes on from a checkpoint
  Time fetch_quiet_{0};  // how long the next donor may be silent
  Time step_since_{0};   // the mini-batch in progress began
  Time lingering_since_{0};  // silence counts from here at the earliest
};

}  // namespace hearsay::gossip
