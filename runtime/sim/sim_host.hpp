// SPDX-License-Identifier: Apache-2.0
// All peers of a pool in one process and in virtual time: carries out the protocols' actions with
// modelled durations while the training inside is real. Mini-batches run on the compute lane from
// the moment they are submitted; their results are collected when their completion is due, so the
// history does not depend on the number of threads. Invariant: one seed, one history. Cost: about 1
// us of bookkeeping per mini-batch.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gossip/protocol.hpp"
#include "gossip/topology/topology.hpp"
#include "runtime/host/evaluation_plan.hpp"
#include "runtime/host/own_model.hpp"
#include "runtime/seams/compute_lane.hpp"
#include "runtime/seams/event_sink.hpp"
#include "runtime/sim/compute_model.hpp"
#include "runtime/sim/event_heap.hpp"
#include "runtime/sim/faults.hpp"
#include "runtime/sim/network_model.hpp"
#include "runtime/train/evaluate.hpp"

namespace hearsay::runtime {

struct SimPeer {
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<OwnModel> model;
  std::unique_ptr<gossip::Protocol> protocol;
};

// Parts of a peer that is killed and begins again, as `incarnation`, with the weights of a donor.
struct SimRebirth {
  std::function<void(SimPeer&, kernels::PeerId)> new_trainer;  // and its model
  std::function<void(SimPeer&, kernels::PeerId, std::uint32_t incarnation)> new_protocol;
  // Reads what it has written down in all its lives (action::Persist); may be missing.
  std::function<void(SimPeer&, kernels::PeerId, const std::vector<std::string>& written)> recollect;
};

struct SimOptions {
  NetworkOptions network;
  ComputeOptions compute;
  std::vector<Fault> faults;
  std::uint64_t seed = 0;
  std::uint32_t epochs = 1;
  double eval_every_epochs = 0.0;  // of a peer's own epochs; 0 = never during the run
  std::size_t eval_examples = 0;   // 0 = the whole test set
  std::optional<double>
      target_accuracy;  // mean over live peers, looked at every quarter epoch of mean progress
  std::optional<double> time_limit_s;  // virtual
  // Set for protocols whose peers finish together: whoever has not stopped this long after the
  // first is stopped.
  std::optional<gossip::Time> stop_deadline;
  bool is_one_way = false;                           // who starts a merge is not who changes
  std::shared_ptr<const gossip::Topology> topology;  // null where nobody merges
  bool has_mass = false;                             // push-sum
  std::uint64_t steps_between_merges = 0;            // in the mean; 0 = no merges. For checks
  SimRebirth rebirth;  // needed for faults after which a peer comes back
};

struct PeerOutcome {
  bool alive = false;
  std::string reason = "still running";
  std::uint64_t payload_bytes = 0, wire_bytes = 0;  // sent
  std::uint64_t example_bytes = 0;                  // of the payload
  gossip::Time ended{0};
  std::vector<float>
      before_end_game;  // weights of the result when an end game changed them; else empty

  void state(gossip::Archive& archive);
};

struct Traffic {
  std::uint64_t frames = 0, bytes = 0;  // on the wire
  void add(const gossip::Frame& frame) {
    ++frames;
    bytes += frame.wire_bytes();
  }
  void state(gossip::Archive& a) { a("frames", frames)("bytes", bytes); }
};

struct SimOutcome {
  std::vector<PeerOutcome> peers;
  gossip::Time virtual_time{0};
  bool stuck = false;  // live peers wait for something that can no longer come
  std::optional<gossip::Time> target_reached;
  double target_best = 0.0;
  std::vector<std::string> faults_never_fired;
  Traffic sent, delivered, lost;

  void state(gossip::Archive& archive);
};

struct SimProgress {
  gossip::Time now;
  std::uint32_t live = 0;
  double progress = 0.0;  // mean share of the epoch budget
  std::uint64_t samples = 0;
  double loss_mean = 0.0,
         loss_deviation = 0.0;  // newest mini-batch losses, smoothed, over live peers
  double accuracy = 0.0;        // mean of the peers' newest evaluations; NaN before the first
  std::uint64_t merges = 0, refused = 0, payload_bytes = 0;
};

struct SimHooks {
  // Accuracy of a peer's weights on its test set; null in simulations without a data set.
  std::function<Evaluation(kernels::PeerId, std::span<const float>, std::size_t limit)> evaluate;
  std::function<void(const std::function<SimProgress()>&)>
      progress;  // called every few hundred mini-batches
  std::function<void(gossip::Time, const std::string&)>
      notice;                         // one line per change of state, for people
  std::function<bool()> interrupted;  // true: stop all peers at their next boundary
  // Asked after every event; true: checkpoint() is called, as it is before an interruption takes
  // effect. There the host's state may be kept. Neither changes the history.
  std::function<bool()> checkpoint_due;
  std::function<void()> checkpoint;
};

class SimHost {
 public:
  SimHost(SimOptions options, std::vector<SimPeer>& peers, ComputeLane& lane);
  ~SimHost();
  SimHost(const SimHost&) = delete;
  SimHost& operator=(const SimHost&) = delete;
  // To the end; once.
  const SimOutcome& run(EventSink& events, SimHooks hooks);

  // Everything that decides what happens next, but weights and moments, which are the caller's to
  // keep: between two events, or before run(), which then goes on from there. Waits for the
  // mini-batches in flight and keeps their reports.
  void state(gossip::Archive& archive);
  // Visits frames that have not arrived: for invariants that count them (push-sum's mass).
  void for_each_frame_in_flight(const std::function<void(const gossip::Frame&)>& visit) const;
  // For checks and benches, which look on.
  const SimOptions& options() const noexcept { return options_; }
  const std::vector<SimPeer>& peers() const noexcept { return peers_; }
  const SimOutcome& outcome() const noexcept { return outcome_; }
  bool is_dead(kernels::PeerId id) const { return running_[id.value].dead; }
  bool is_over(kernels::PeerId id) const { return is_dead(id) || running_[id.value].finished; }
  std::uint32_t life(kernels::PeerId id) const { return running_[id.value].life; }
  std::size_t live() const noexcept { return live_; }  // neither dead nor finished
  bool is_calm() const { return faults_.is_calm(); }   // no fault is under way or to come
  // run() returns after this event, whatever the peers are doing.
  void abandon() { abandoned_ = true; }
  // Called after every event; for tests and benches that watch a history from outside.
  std::function<void(gossip::Time)> after_event;

 private:
  enum class What : std::uint8_t {
    start,
    step_done,
    frame,
    timer,
    peer_down,
    fault_check,
    time_limit,
    stop_deadline
  };
  struct Pending {
    What what = What::start;
    kernels::PeerId peer;  // whom it concerns
    kernels::PeerId who;   // peer_down
    std::uint64_t id = 0;  // timer
    std::shared_ptr<gossip::Frame> frame;
    bool when_quiet = false;   // timer: only once nothing has moved to or from `who`
    gossip::Time patience{0};  // for so long
    std::uint32_t life = 0;    // of `peer` that is meant: what was for an earlier one is void
    void state(gossip::Archive& archive);
  };
  struct Waiting {  // an event of the heap, to keep
    gossip::Time at{0};
    std::uint64_t order = 0;
    Pending event;
    void state(gossip::Archive& a) { a("at", at)("order", order)("event", event); }
  };
  struct Running {  // a peer while the simulation runs
    ComputeJob job;
    bool in_step = false, dead = false, finished = false;
    std::uint32_t life = 0;  // its incarnation
    std::uint64_t budget_steps = 0;
    EvaluationPlan evaluations;
    double smoothed_loss = 0.0, last_accuracy = -1.0;
    std::vector<std::string> written;                     // its disk
    std::deque<std::pair<gossip::Time, Pending>> frozen;  // events kept back by a stall
    void state(gossip::Archive& archive);
  };

  void begin();
  void dispatch(gossip::Time now, Pending event);
  void state_of_heap(gossip::Archive& archive);
  void check_loaded(const gossip::Archive& archive) const;
  void turn(kernels::PeerId peer, gossip::Time now, const gossip::Input& input);
  void carry_out(kernels::PeerId peer, gossip::Time now, gossip::Action& action);
  void begin_step(kernels::PeerId peer, gossip::Time now, ComputeJob::Kind kind);
  void step_done(kernels::PeerId peer, gossip::Time now);
  void send(gossip::Time now, gossip::Frame frame);
  void fire_timer(kernels::PeerId peer, gossip::Time now, const Pending& timer);
  void finish(kernels::PeerId peer, gossip::Time now, const gossip::action::Finish& action);
  void kill(kernels::PeerId peer, gossip::Time now);
  void begin_again(kernels::PeerId peer, gossip::Time now);
  void push(gossip::Time at, Pending event);  // to the life of its peer that now is
  void stop_all(gossip::Time now, const std::string& reason);
  void check_faults(gossip::Time now);
  void carry_out(const Fault& fault, bool begins, kernels::PeerId id, gossip::Time now);
  void check_target(gossip::Time now);
  void evaluate_if_due(kernels::PeerId peer, gossip::Time now);
  bool over() const;
  double mean_progress() const;
  SimProgress progress(gossip::Time now) const;
  void record(gossip::Time now, kernels::PeerId peer, const gossip::Event& event);

  SimOptions options_;
  std::vector<SimPeer>& peers_;
  ComputeLane& lane_;
  EventSink* events_ = nullptr;  // while it runs
  SimHooks hooks_;
  NetworkModel network_;
  ComputeModel compute_;
  FaultSchedule faults_;
  std::vector<Tamper> tampers_;  // [peer]
  EventHeap<Pending> heap_;
  std::vector<Running> running_;
  std::vector<std::string> names_;
  SimOutcome outcome_;
  // When the newest frame between two peers (lower id first) has arrived or will have: until then
  // bytes move. Frames with weights only.
  std::map<std::pair<std::uint32_t, std::uint32_t>, gossip::Time> moving_until_;
  std::size_t live_ = 0;             // neither dead nor finished
  double next_target_check_ = 0.25;  // epochs of mean progress
  std::uint64_t steps_ = 0, progress_steps_ = 0, budget_steps_ = 0;
  bool begun_ = false, stopping_ = false, deadline_set_ = false, abandoned_ = false;
};

}  // namespace hearsay::runtime
