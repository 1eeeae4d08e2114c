// SPDX-License-Identifier: Apache-2.0
// The seam between protocols and hosts: one input and the time in, actions out. A protocol does no
// I/O, reads no clock, starts no thread; its only side effect is on its own peer's model. SimHost
// and LiveHost carry the actions out. A peer trains one mini-batch at a time; everything that
// touches weights happens between two of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gossip/archive.hpp"
#include "gossip/event.hpp"
#include "gossip/examples/holdings.hpp"
#include "gossip/frame.hpp"
#include "gossip/limits.hpp"
#include "gossip/local_model.hpp"

namespace hearsay::gossip {

using Time = std::chrono::nanoseconds;  // since the run began, on the run's clock

struct StepReport {
  std::uint32_t samples = 0;
  double loss = 0.0;  // mean over the mini-batch, before the update
  std::uint32_t correct = 0;
  double lr = 0.0;

  void state(Archive& a) { a("samples", samples)("loss", loss)("correct", correct)("lr", lr); }
};

namespace input {
struct Start {};
struct StepDone {
  StepReport report;
};  // answers Train or TrainGradient
struct FrameIn {
  Frame frame;
};
struct Timer {
  std::uint64_t id;
};  // answers SetTimer
struct PeerDown {
  PeerId who;
};  // the transport found out
struct Stop {
  std::string reason;
};  // finish at the next boundary, start no more merges
}  // namespace input
using Input = std::variant<input::Start, input::StepDone, input::FrameIn, input::Timer,
                           input::PeerDown, input::Stop>;

namespace action {
struct Train {};          // one mini-batch with update
struct TrainGradient {};  // one mini-batch, gradient only
struct ApplyGradient {
  double scale;
};  // update with scale * gradient()
struct Send {
  Frame frame;
};
struct SetTimer {
  Time at;
  std::uint64_t id;
  // With a peer: fires only once no weights have moved to or from it for `patience`. A slow link is
  // not a silent one, and only the host knows.
  std::optional<PeerId> quiet_with{};
  Time patience{0};
};
struct Record {
  Event event;
};
struct Persist {
  std::string line;  // to be on disk before any later action is carried out
};
struct EndGameBegins {};  // the weights of the run's result are these; merges will change them
struct Finish {
  std::string reason;
  bool alive;
};  // the protocol will do nothing more
}  // namespace action
using Action = std::variant<action::Train, action::TrainGradient, action::ApplyGradient,
                            action::Send, action::SetTimer, action::Record, action::Persist,
                            action::EndGameBegins, action::Finish>;
using Actions = std::vector<Action>;

// What every protocol counts; summed into result.json.
struct Counters {
  std::uint64_t merges_started = 0;  // exchanges that this peer began
  std::uint64_t merges_applied = 0;  // mseq
  std::uint64_t merges_refused = 0;
  std::uint64_t merges_skipped = 0;  // no free partner, or the one before still unanswered
  std::uint64_t samples = 0;         // behind the weights: a late joiner starts with its donor's
  std::uint64_t steps = 0;
  std::uint64_t samples_at_last_merge = 0;
  std::uint64_t longest_gap_samples =
      0;  // between two applied merges, start and end of the run included
  double age_samples_sum = 0.0;
  double mass = 1.0;                    // push-sum weight
  std::uint32_t votes_heard = 0;        // when it stopped by convergence
  std::uint64_t inherited_samples = 0;  // of `samples`, trained by others before it joined

  void state(Archive& a) {
    a("merges_started", merges_started)("merges_applied", merges_applied);
    a("merges_refused", merges_refused)("merges_skipped", merges_skipped);
    a("samples", samples)("inherited_samples", inherited_samples)("steps", steps);
    a("samples_at_last_merge", samples_at_last_merge);
    a("longest_gap_samples", longest_gap_samples)("age_samples_sum", age_samples_sum);
    a("mass", mass)("votes_heard", votes_heard);
    if (a.loading() && !(mass >= 0.0 && mass <= limits::kMostMass)) a.fail("mass", "is no mass");
  }
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual void on(const Input& input, Time now, LocalModel& model, Actions& out) = 0;
  virtual const Counters& counters() const = 0;
  // Frames with weights that have arrived and wait for the next boundary.
  virtual void for_each_waiting(const std::function<void(const Frame&)>&) const {}
  // Other peers that this one believes it can reach; none where peers train alone.
  virtual std::uint32_t partners_alive() const { return 0; }
  // [peer] its community, as this peer sees it; empty where there are none.
  virtual std::vector<std::uint32_t> communities() const { return {}; }
  // What this peer had written down of its examples in earlier starts (action::Persist).
  virtual void recollect(const Holdings&) {}
  // Everything that decides what it will do next, to go on from there. In a simulation the history
  // continues exactly; a live peer is told Start once more and gives up what was on its way.
  virtual void state(Archive& archive) = 0;
};

}  // namespace hearsay::gossip
