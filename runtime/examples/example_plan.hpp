// SPDX-License-Identifier: Apache-2.0
// What --sampling, --retire, --quarantine and --share hard ask for, read and checked. Throws
// UsageError.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/config/run_config.hpp"
#include "runtime/examples/passing.hpp"
#include "runtime/examples/sampling.hpp"
#include "runtime/examples/tiers.hpp"

namespace hearsay::runtime {

struct ExamplePlan {
  SamplingPlan sampling;
  std::optional<RetirePlan> retire;
  std::optional<QuarantinePlan> quarantine;
  std::optional<PassingPlan> passing;
  bool looks = false;  // models look at all examples now and then
  std::uint32_t every =
      5;  // own epochs between two looks at all examples by the same kind of model
  std::uint32_t peers = 1;
  bool logs = false;  // --log-examples: which examples came, and what was learned of them

  ExampleLedger::Bounds bounds() const {
    if (!retire) return {};
    return {static_cast<float>(retire->confident), static_cast<float>(retire->forgotten)};
  }
};

// Of a shard, kept out of training to find a model's temperature by.
inline constexpr double kCalibrationShare = 0.02;

// Null where nothing asks for a ledger: then none is kept, and nothing costs anything.
std::shared_ptr<const ExamplePlan> build_examples(const RunConfig& config);
// A ledger needs the outputs of every example, which GPUs keep to themselves.
void refuse_on_gpu(const ExamplePlan* plan, bool on_gpu);

}  // namespace hearsay::runtime
