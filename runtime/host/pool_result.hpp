// SPDX-License-Identifier: Apache-2.0
// What came out of a pool as numbers, and the arithmetic behind them: one for simulated and for
// live pools, so that their results can be compared. The words are those of result.json. Pure
// functions of what a host knows about each ended peer; evaluation is a callback. Lane: control,
// once a run. Cost: one evaluation a peer (two with an end game), one a rotated group, a double and
// a float per parameter for the mean.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gossip/protocol.hpp"
#include "kernels/core/digest.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/examples/tally.hpp"
#include "runtime/host/pool_communities.hpp"
#include "runtime/train/evaluate.hpp"

namespace hearsay::runtime {

// Test examples evaluated at a time, at least (a larger --batch is larger). Part of the result: the
// sums of an evaluation are grouped by it.
inline constexpr std::size_t kEvaluationChunk = 256;

// Metrics of one peer at the end.
struct PeerResult {
  std::string name;
  bool alive = false;
  std::string reason;
  std::size_t shard = 0;                 // examples it owned
  Evaluation test;                       // of its own model, before any end game
  std::optional<Evaluation> test_final;  // after the end game
  gossip::Counters counters;
  std::uint64_t payload_bytes = 0, wire_bytes = 0;
  std::optional<std::string> communities;      // community_text() of what it found, of all peers
  std::optional<std::uint64_t> example_bytes;  // of the payload; nothing where none are shared
  ExampleTally examples;                       // empty where no ledger was kept
  double longest_merge_gap_epochs = 0.0;       // 0 epochs trained: 0
  // Measured by live peers only: a simulated one has no process of its own.
  std::optional<std::uint64_t> peak_rss_bytes;
  std::optional<double> wall_s, cpu_s, io_cpu_s;  // from its first mini-batch to its end
  std::optional<double> train_s;                  // of wall_s, inside mini-batches
  // Of its last start: frames whose weights went to a process of the same host without a socket.
  std::optional<std::uint64_t> frames_handed_over;
};

struct PoolResult {
  std::string verdict = "ok";  // ok, lost quorum, stuck, target missed, fault never fired,
                               // interrupted
  std::string reason;  // one sentence when the verdict is not ok, or why the run ended early
  int exit_code = 0;
  double wall_s = 0.0;
  std::optional<double> virtual_s;       // simulated pools only
  std::optional<double> training_share;  // in mini-batches: of wall time x threads (live: x peers)
  std::optional<double> io_cpu_share;    // of the live peers' CPU time, spent on sockets
  std::optional<double> peak_rss_bytes_mean;
  std::vector<PeerResult> peers;
  std::uint32_t lost = 0;
  double test_acc_mean = 0.0, test_acc_min = 0.0, test_acc_max = 0.0, test_loss_mean = 0.0;
  double test_acc_averaged_model = 0.0;  // uniform mean of the live peers' weights
  std::optional<double> test_acc_final_mean, test_acc_final_min, test_acc_final_max;
  double consensus_distance = 0.0;  // (1/n) sum || w_i - mean ||^2 over live peers, before any end
                                    // game
  double mean_merge_age_epochs = 0.0;      // over all applied merges, in epochs of the receiver
  std::optional<double> target_reached_s;  // on the run's clock: virtual, or of the launcher
  double target_best = 0.0;
  std::uint32_t votes_heard = 0;  // most that any peer had heard when it stopped by convergence
  std::optional<PoolCommunities> communities;  // that most live peers found
  kernels::Digest digest;  // over the final weights of the live peers in id order
  std::vector<std::string> faults_never_fired;
};

// A peer when all is over. The spans are empty unless it is alive.
struct EndedPeer {
  // Everything but longest_merge_gap_epochs. An evaluation that the peer made itself is kept; one
  // of 0 examples (or none) is made here.
  PeerResult known;
  std::uint32_t group = 0;  // of a split with rotation: the averaged model is tested once a group
  std::span<const float> counted;        // the weights that test_acc_* and consensus are about
  std::span<const float> final_weights;  // differ from them after an end game
};
// Of any weights on the test set as this peer (an index of `peers`) sees it.
using EvaluatePeer = std::function<Evaluation(std::size_t peer, std::span<const float> weights)>;

// Fills `peers` and all that follows from them; `peers` is in id order. Times, target and faults
// are the caller's.
void summarise(const std::vector<EndedPeer>& peers, bool end_game, const EvaluatePeer& evaluate,
               PoolResult& result);

// What only the host can say about how a run ended.
struct HowItEnded {
  bool stuck = false;  // peers wait for what can no longer come; so does a peer's reason "stuck"
  int signal = 0;      // that ended the run early; 0 = none
  std::vector<std::string> broken{};  // invariants, a line each
};
// Verdict, reason and exit code, from a result that is filled otherwise. The first that applies:
// invariant broken, interrupted, stuck, lost quorum, target missed, fault never fired.
void judge(const RunConfig& config, const HowItEnded& how, PoolResult& result);

// Coordinate-wise mean, added up in double; empty for no models.
std::vector<float> mean_weights(const std::vector<std::span<const float>>& models);

}  // namespace hearsay::runtime
