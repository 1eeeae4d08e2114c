// SPDX-License-Identifier: Apache-2.0
#include "gossip/blocks.hpp"

#include <algorithm>

#include "kernels/core/check.hpp"

namespace hearsay::gossip {

Blocks::Draw Blocks::next(std::uint64_t steps_done) {
  HS_CHECK(steps_done <= budget_steps());
  Draw draw;
  draw.rng = rng_.position();
  std::uint64_t steps = 0;
  switch (plan_.mode) {
    case BlockMode::literal: draw.k = rng_.poisson(plan_.lambda); break;
    case BlockMode::truncated:
      do draw.k = rng_.poisson(plan_.lambda);
      while (draw.k == 0);
      break;
    case BlockMode::shifted: draw.k = 1 + rng_.poisson(plan_.lambda - 1.0); break;
    case BlockMode::steps:
      draw.k = std::max<std::uint64_t>(
          1, rng_.poisson(plan_.lambda * static_cast<double>(plan_.steps_per_epoch)));
      steps = draw.k;
      break;
  }
  if (plan_.mode != BlockMode::steps) steps = draw.k * plan_.steps_per_epoch;
  draw.steps = std::min(steps, budget_steps() - steps_done);
  return draw;
}

}  // namespace hearsay::gossip
