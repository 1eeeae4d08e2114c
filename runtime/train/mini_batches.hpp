// SPDX-License-Identifier: Apache-2.0
// Which examples of a shard come next: mini-batches in a fresh order every pass, the order a pure
// function of (seed, peer, pass). With a probe share, the last examples of a seeded shuffle are
// kept out. Cost: a shuffle a pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gossip/archive.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::runtime {

class MiniBatches {
 public:
  MiniBatches(std::uint64_t seed, std::uint32_t peer, std::uint32_t batch, std::size_t examples,
              double probe_share);

  // Places in the shard. Batches of a pass differ by at most one example: a short last one would be
  // the noisiest step of the epoch.
  std::span<const std::uint32_t> next();
  std::span<const std::uint32_t> probe() const { return probe_; }
  std::size_t examples() const noexcept { return examples_; }  // that are trained on at first
  std::uint64_t steps_per_pass() const noexcept { return steps_; }
  std::uint64_t passes() const noexcept { return passes_; }  // begun

  // From now on every pass is given: its rows, at least one of `rows` places, in as many
  // mini-batches as ever.
  void expect_passes(std::size_t rows);
  bool pass_is_over() const noexcept { return cursor_ == order_.size(); }
  void begin_pass(std::vector<std::uint32_t> rows);
  // `steps` mini-batches have been done. The order of a pass follows from the passes before it, so
  // it is made again instead of kept, unless it was given.
  void state(gossip::Archive& archive, std::uint64_t& steps);

 private:
  void state_of_given(gossip::Archive& archive, std::uint64_t& steps);

  std::uint64_t steps_;
  std::size_t examples_;
  std::size_t rows_ = 0;  // of given passes; 0: they are not given
  std::vector<std::uint32_t> order_, probe_;
  std::size_t cursor_;
  kernels::Rng shuffle_;
  std::uint64_t passes_ = 0;
};

}  // namespace hearsay::runtime
