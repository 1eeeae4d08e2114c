// SPDX-License-Identifier: Apache-2.0
// A pool that does not learn, and how far its vectors lie apart. Merged in virtual time by a
// SimHost, or at one table: there merges follow each other with initiators drawn evenly, which is
// what the formulas of bench_mix.hpp assume; on a clock, peers take turns and exchanges overlap.
// Lane: compute. Memory: two vectors a peer, and what a peer remembers of those it has met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "gossip/protocols/gossip_peer.hpp"
#include "runtime/host/thread_lane.hpp"
#include "runtime/sim/sim_host.hpp"

namespace hearsay::runtime {

struct MixOptions {
  gossip::ExchangeKind exchange = gossip::ExchangeKind::pairwise;
  std::uint32_t peers = 2;
  std::size_t values = 200;      // of a vector
  double alpha = 0.5;            // of every merge
  double epochs_between = 20.0;  // mini-batches between a peer's merges, in the mean
  std::uint64_t seed = 0;
};

struct MixPool {
  explicit MixPool(const MixOptions& options);

  void scatter(std::uint64_t seed);  // standard normal values anew
  // sum ||x_i - mean||^2, in double. Cost: one pass over all vectors.
  double disagreement() const;
  std::uint64_t merges_started() const;
  std::uint64_t merges_applied() const;

  static constexpr std::uint32_t kBudget = 1'000'000;  // epochs: never reached
  MixOptions mix;
  ThreadLane lane;
  SnapshotPool snapshots;
  std::vector<SimPeer> peers;
  SimOptions options;
};

class MixTable {
 public:
  explicit MixTable(MixPool& pool);

  // Lets `initiator` train until its next merge and carries that merge out: every frame is
  // delivered at once to a receiver at its next boundary. Returns how many were started: 1, rarely
  // more, when a boundary granted to a receiver happens to end its own block.
  std::uint64_t one_merge(std::uint32_t initiator);

 private:
  void feed(std::uint32_t peer, const gossip::Input& input);

  MixPool& pool_;
  std::deque<gossip::Frame> frames_;
  std::uint64_t started_ = 0;
};

}  // namespace hearsay::runtime
