// SPDX-License-Identifier: Apache-2.0
// How long a peer trains between the merges it starts: K drawn from a Poisson distribution, in
// whole epochs or in mini-batches, until the peer's epoch budget is used up. Modes of
// `--merge-every`.
#pragma once

#include <cstdint>

#include "gossip/archive.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::gossip {

enum class BlockMode {
  literal,    // K ~ Poisson(lambda) epochs; K = 0 merges again at once. Needs lambda >= 1
  truncated,  // redrawn until K >= 1: mean lambda / (1 - exp(-lambda))
  shifted,    // K = 1 + Poisson(lambda - 1), lambda >= 1
  steps,      // max(1, Poisson(lambda * steps per epoch)) mini-batches
};

struct BlockPlan {
  double lambda = 1.0;
  BlockMode mode = BlockMode::literal;
  std::uint64_t steps_per_epoch = 1;
  std::uint64_t epochs = 1;  // budget
};

class Blocks {
 public:
  Blocks(const BlockPlan& plan, kernels::Rng rng) : plan_(plan), rng_(rng) {}

  struct Draw {
    std::uint64_t k = 0;      // as drawn: epochs, or mini-batches in mode steps
    std::uint64_t steps = 0;  // mini-batches to train, cut at the budget; 0 only in mode literal
    std::uint64_t rng = 0;    // stream position of the draw
  };
  Draw next(std::uint64_t steps_done);

  void state(Archive& a) { a("rng", rng_); }
  std::uint64_t budget_steps() const noexcept { return plan_.epochs * plan_.steps_per_epoch; }
  const BlockPlan& plan() const noexcept { return plan_; }

 private:
  BlockPlan plan_;
  kernels::Rng rng_;
};

}  // namespace hearsay::gossip
