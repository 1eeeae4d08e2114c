// SPDX-License-Identifier: Apache-2.0
// One peer of a real pool: carries out its protocol's actions with real mini-batches, a real clock
// and a transport. The caller's thread is the compute lane: it trains, merges and drives the
// protocol; frames come from the io lane through Arrivals, events go to the log lane. Invariant:
// weights change between two mini-batches only, and everything that arrived before a boundary is
// handed to the protocol at that boundary, in order. Cost per mini-batch beyond training: one lock.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "gossip/protocol.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/host/arrivals.hpp"
#include "runtime/host/evaluation_plan.hpp"
#include "runtime/host/journal_head.hpp"
#include "runtime/host/own_model.hpp"
#include "runtime/launch/peer_status.hpp"
#include "runtime/log/input_journal.hpp"
#include "runtime/net/network_faults.hpp"
#include "runtime/net/transport.hpp"
#include "runtime/seams/event_sink.hpp"
#include "runtime/sim/tamper.hpp"
#include "runtime/train/evaluate.hpp"
#include "runtime/train/trainer.hpp"

namespace hearsay::runtime {

struct LiveOptions {
  kernels::PeerId self;
  std::uint64_t seed = 0;
  std::uint32_t epochs = 1;
  double eval_every_epochs = 0.0;  // of its own epochs; 0 = never on the way
  std::size_t eval_examples = 0;   // 0 = the whole test set
  gossip::Time begin_at{0};        // where the run clock goes on, of a run that is resumed
  std::uint64_t incarnation = 0;
};

struct HostileOrder {  // for tests of the others: an attack (sim/tamper.hpp), label-flip or poison
  std::string what;
  double strength = 1.0;
  bool begins = true;
};

// What may be asked of a running peer from outside.
struct LiveOrders {
  std::optional<std::string> stop;  // the reason; stays once it is there
  bool leaves = false;              // with a stop: the others go on, so it does not wait for them
  double slow_factor = 1.0;         // sleeps that many times less one of each mini-batch's time
  NetworkFaults network;
  std::vector<HostileOrder> hostile;  // each is carried out once, at the next boundary
  std::uint64_t evaluate_round = 0;   // rises with every order to evaluate at the next boundary
};

class LiveHost;

struct LiveHooks {
  std::function<Evaluation(std::span<const float>, std::size_t limit)> evaluate;  // may be null
  std::function<void(LiveOrders&)> poll;           // looked at every 20 ms
  std::function<void(const PeerStatus&)> status;   // at most four times a second
  std::function<void(const std::string&)> notice;  // one line per change of state, for people
  std::function<std::optional<std::string>()> log_failure;  // may be null
  InputJournal* journal = nullptr;                          // may be null
  std::function<void(const std::string&)> persist;          // on disk when it returns; may be null
  // Between two mini-batches, after every poll: the moment for a checkpoint.
  std::function<void(LiveHost&, const LiveOrders&)> boundary;
};

struct LiveOutcome {
  bool alive = false;
  std::string reason;
  double wall_s = 0.0, train_s = 0.0;
  std::vector<float> before_end_game;  // when an end game changed the weights; else empty
};

class LiveHost {
 public:
  LiveHost(LiveOptions options, Trainer& trainer, OwnModel& model, gossip::Protocol& protocol,
           Transport& transport, Arrivals& arrivals, EventSink& events, LiveHooks hooks);
  LiveOutcome run();  // until the protocol has finished, or a stop was not obeyed in time

  // For hooks.boundary.
  void record_now(const gossip::Event& event);  // nothing once it is done: peer.left comes last
  LiveOutcome so_far() const;
  // What is its own of a checkpoint; to load, before run().
  void state(gossip::Archive& a);

 private:
  struct Alarm {
    gossip::Time at;
    std::uint64_t id;
    std::optional<kernels::PeerId> quiet_with;  // as in action::SetTimer
    gossip::Time patience{0};
    bool operator>(const Alarm& other) const { return at > other.at; }
  };

  gossip::Time clock() const;
  void turn(const gossip::Input& input);
  void carry_out(gossip::Action& action);
  void journal_merge(const gossip::Event& event);
  void send(gossip::Frame frame);
  void train_step();
  void take_arrivals(std::chrono::nanoseconds at_most);
  void fire_alarms();
  bool put_off(Alarm alarm);
  void look_outside();
  void obey(const HostileOrder& order);
  void obey_stop();
  void evaluate_if_due();
  void evaluate();
  void record(const gossip::Event& event);
  void send_status(PeerStatus::State state);
  std::chrono::nanoseconds until_next_alarm() const;
  double epochs() const;

  LiveOptions options_;
  Trainer& trainer_;
  OwnModel& model_;
  gossip::Protocol& protocol_;
  Transport& transport_;
  Arrivals& arrivals_;
  EventSink& events_;
  LiveHooks hooks_;
  std::string name_;
  kernels::Rng drops_;
  Tamper tamper_;
  std::chrono::steady_clock::time_point start_;
  gossip::Time now_{0};  // of the turn
  enum class Step { none, train, gradient } asked_ = Step::none;
  std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> alarms_;
  LiveOrders orders_;
  EvaluationPlan evaluations_;
  PeerStatus status_;
  gossip::Time looked_at_{0}, told_at_{0}, stop_asked_at_{0};
  std::uint64_t told_samples_ = 0;
  int stops_ = 0;
  bool done_ = false;
  LiveOutcome outcome_;
};

}  // namespace hearsay::runtime
