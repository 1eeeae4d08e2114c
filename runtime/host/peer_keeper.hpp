// SPDX-License-Identifier: Apache-2.0
// When a live peer writes checkpoints: by time, when asked, and as soon as it is told to stop; and
// what it says about them: `ckpt.written`, and one `fault.seen` a change of state where the disk
// does not take them (the run goes on with the last good one). Lane: compute; the writing is done
// on a thread of its own.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "runtime/host/checkpoint_lane.hpp"
#include "runtime/host/live_host.hpp"

namespace hearsay::runtime {

class PeerKeeper {
 public:
  // Makes the checkpoint of this instant.
  using Make = std::function<Checkpoint(LiveHost&)>;
  PeerKeeper(const std::string& folder, std::optional<double> every_s, std::string peer, Make make);

  // Between two mini-batches. `steps` is the least number that the checkpoint may have.
  void at_boundary(LiveHost& host, std::uint64_t steps, bool asked, bool stopping);
  void wait() { lane_.wait(); }  // for the one that is being written

 private:
  void tell(LiveHost& host, const CheckpointLane::Outcome& outcome);

  CheckpointLane lane_;
  std::optional<std::chrono::duration<double>> every_;
  std::string peer_;
  Make make_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool wanted_ = false, stopping_ = false, failing_ = false;
};

}  // namespace hearsay::runtime
