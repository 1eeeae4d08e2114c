// SPDX-License-Identifier: Apache-2.0
// Where mini-batches are computed. A host submits the steps of many peers and collects each when
// its result is due; the lane may run them inline, on threads, or as one batch on a device. A peer
// has at most one job in flight, and its bits do not depend on who else is in the lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/train/trainer.hpp"

namespace hearsay::runtime {

struct ComputeJob {
  enum class Kind { train, gradient };
  Trainer* trainer = nullptr;
  Kind kind = Kind::train;
  gossip::StepReport report;  // valid after wait()
  bool done = true;           // guarded by the lane, as is
  std::uint64_t ticket = 0;   // its place in line
};

class ComputeLane {
 public:
  virtual ~ComputeLane() = default;
  virtual std::size_t workers() const = 0;
  // Of how many seconds of training a second consists at most.
  virtual std::size_t trains_at_once() const { return workers(); }
  virtual void submit(ComputeJob& job) = 0;  // job outlives wait(); job.done is true before
  virtual void wait(ComputeJob& job) = 0;    // returns at once for a job that is not in flight
  // body(index, worker) for every index < count; returns when all have run. Jobs in flight may run
  // meanwhile.
  virtual void parallel_for(std::size_t count,
                            const std::function<void(std::size_t, std::size_t)>& body) = 0;
  // Seconds spent inside mini-batches, and inside parallel_for bodies, all workers added up.
  struct Spent {
    double training_s = 0.0, other_s = 0.0;
  };
  virtual Spent spent() const = 0;
};

}  // namespace hearsay::runtime
