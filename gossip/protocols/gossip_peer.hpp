// SPDX-License-Identifier: Apache-2.0
// A gossiping peer: trains a block of K, merges with one neighbour, draws the next K, and never
// waits for a barrier. At every mini-batch boundary it first applies what has arrived, then does
// what is due. After its last epoch it goes on answering until everyone it can reach has finished
// too.
//
//   training -> (waiting) -> draining -> lingering -> (end game -> last lingering) -> done
#pragma once

#include <memory>
#include <optional>
#include <string>
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

 private:
  static constexpr std::uint64_t kLingerTimer = ~std::uint64_t{0};  // no exchange gets this number

  enum class Phase { training, waiting, draining, lingering, end_game, last_lingering, done };

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
  void handle(const input::Progress&, Turn&) {}
  void handle(const input::Stop& stop, Turn& turn);

  void begin_block(Turn& turn);
  void end_block(Turn& turn);
  void train_block(Turn& turn);
  void start_due_merges(Turn& turn);
  void start_merge(Turn& turn);
  std::optional<Choice> choose_partner();
  bool answered() const;  // nothing due, nothing on its way
  void serve_inbox(Turn& turn);
  void diverged(const StepReport& report, Turn& turn);

  void accept_weights(Frame frame, Turn& turn);
  void answer_ping(PeerId who, Turn& turn);
  void check_votes();
  void partner_down(PeerId who, Turn& turn);
  void drain(std::string reason, Turn& turn);
  void progress_when_answered(Turn& turn);
  void announce_finished(Turn& turn);
  Frame finished_frame(PeerId to) const;
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
  Phase phase_ = Phase::training;
  Block block_;
  std::vector<PeerId> burst_;   // partners of this boundary's merges so far
  std::size_t merges_due_ = 0;  // merges of this boundary still to be started
  std::optional<std::string> stop_reason_;
  std::string finish_reason_ = "finished";
  std::uint32_t majority_merges_ = 0, merges_seen_ = 0;
  std::uint32_t rounds_left_ = 0;
  Time lingering_since_{0};  // silence counts from here at the earliest
};

}  // namespace hearsay::gossip
