// SPDX-License-Identifier: Apache-2.0
// From what the peers of a live pool left in the run directory, and what their launcher saw, to the
// pool's result: the same numbers by the same arithmetic as a simulation's. A peer counts as alive
// when its process ended well and its files say so and can be read; whatever is wrong with one
// peer's files is that peer's reason and costs the others nothing. Lane: the launcher's thread,
// when all processes have ended. Cost: all final models in memory, the data set loaded once, one
// evaluation a rotated group and one for each peer that did not evaluate itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/host/export_model.hpp"
#include "runtime/host/pool_result.hpp"
#include "runtime/launch/peer_status.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

struct PeerEnding {
  std::string name;                // "p03"
  std::optional<std::string> how;  // set: it did not end well ("killed by SIGKILL"), hence is lost
  std::optional<PeerStatus> last;  // its newest numbers, for a peer that left no result of its own
  std::string host{};              // where it ran
};

struct PoolEnding {
  double wall_s = 0.0;                       // of the run, as the launcher measured it
  int signal = 0;                            // that ended the run early: SIGINT, SIGTERM; 0 = none
  std::optional<double> target_reached_s{};  // since the first mini-batch
  double target_best = 0.0;                  // the metric's best value so far
  std::vector<std::string> faults_never_fired{};
  std::vector<PeerEnding> peers{};  // any order; a peer that is not named has ended well
};

// The result of config.peers peers. `exported`, when given, becomes the model to hand to
// export_pool_model(). Throws what load_dataset() throws.
PoolResult collect_pool(const RunDir& run, const RunConfig& config, const PoolEnding& ending,
                        ExportedModel* exported = nullptr);

}  // namespace hearsay::runtime
