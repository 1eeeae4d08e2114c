// SPDX-License-Identifier: Apache-2.0
// Optimiser state of one peer and its update rule: SGD with momentum, or AdamW. Gradient clipping
// by global norm comes first (Pascanu et al. 2013, arXiv 1211.5063). A merge leaves the state
// alone: the receiver keeps its own momentum.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/archive.hpp"
#include "kernels/core/buffer.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

struct OptimizerOptions {
  enum class Kind { sgd, adamw } kind = Kind::sgd;
  double lr = 0.05, momentum = 0.9;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0;
  double clip = 0.0;  // largest gradient norm; 0 = no clipping
};

// `sgd:lr=0.05,momentum=0.9,clip=1` or `adamw:lr=1e-3,beta1=,beta2=,eps=,decay=,clip=`. Throws
// UsageError.
OptimizerOptions parse_optimizer(const Spec& spec);

class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, std::size_t size);
  // One update of `weights` with scale * gradient, learning rate options.lr * factor.
  void apply(std::span<float> weights, std::span<const float> gradient, double scale,
             double factor);

  void reset();                                                           // as new
  void state(gossip::Archive& archive) { archive("updates", updates_); }  // beside moments()
  std::vector<std::pair<std::string_view, std::span<float>>> moments();

 private:
  OptimizerOptions options_;
  kernels::Buffer<float> first_, second_;  // momentum, or first and second moments
  std::uint64_t updates_ = 0;
};

}  // namespace hearsay::runtime
