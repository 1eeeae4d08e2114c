// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/vector_trainer.hpp"

namespace hearsay::runtime {

VectorTrainer::VectorTrainer(std::size_t size, std::uint64_t seed, std::uint32_t peer)
    : values_(size) {
  kernels::Rng rng = kernels::Rng::stream(seed, "vector", peer);
  for (float& v : values_.span()) v = static_cast<float>(rng.normal());
}

gossip::StepReport VectorTrainer::train_gradient(std::size_t) {
  if (gradient_.size() == 0) gradient_ = kernels::Buffer<float>(values_.size());
  return {1, 0.0, 0, 0.0};
}

}  // namespace hearsay::runtime
