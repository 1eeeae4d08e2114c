// SPDX-License-Identifier: Apache-2.0
// How synchronous baselines add up in a codec: --protocol ddp:feedback=ef (also ef21, dgc, none),
// --protocol diloco:feedback=ef. All functions throw UsageError.
#pragma once

#include <memory>

#include "gossip/baselines/all_reduce.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/train/optimizer.hpp"

namespace hearsay::runtime {

// Of --protocol ddp or diloco. `codec`: the pool's; null: values go round whole.
gossip::ReduceSettings reduce_settings(const RunConfig& config,
                                       std::shared_ptr<const gossip::CodecPlan> codec);
// Refuses codecs in which no sums can be said, and feedback without a codec.
void refuse_reduction_where_it_does_not_fit(const RunConfig& config);

// --optimizer, as the step after the sum takes it: with feedback=dgc momentum and clipping come
// before the codec instead.
OptimizerOptions optimizer_after_sums(const RunConfig& config);

}  // namespace hearsay::runtime
