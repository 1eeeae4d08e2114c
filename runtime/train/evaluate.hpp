// SPDX-License-Identifier: Apache-2.0
// Loss and accuracy of weights on a test set, cut into fixed chunks so that any number of workers
// gives the same sums.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "kernels/nn/loss.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/train/nn_context.hpp"

namespace hearsay::runtime {

struct Evaluation {
  double loss = 0.0, accuracy = 0.0;
  std::size_t examples = 0;
};

inline void add(kernels::LossSums& sums, const kernels::LossSums& more) {
  sums.loss += more.loss;
  sums.confidence += more.confidence;
  sums.correct += more.correct;
}

// Runs body(index, worker) for every index in 0 .. count - 1, in any order, and returns when all
// are done.
using ParallelFor = std::function<void(std::size_t count,
                                       const std::function<void(std::size_t, std::size_t)>& body)>;

// The first `limit` test images (0 = all). `label` maps a stored label to the one that counts for
// this peer.
Evaluation evaluate(NnContext& context, const ImageSet& test, std::span<const float> weights,
                    std::size_t limit, const std::function<std::uint8_t(std::uint8_t)>& label,
                    const ParallelFor& parallel_for);

}  // namespace hearsay::runtime
