// SPDX-License-Identifier: Apache-2.0
// The model to use after a run: the uniform mean of the live peers' final weights (with --protocol
// local the first live peer's), with the standardisation of the inputs folded into the first layer,
// so that it takes byte / 255. Written as export/model.safetensors and export/model.json. Lane:
// control, once a run. Cost: a pass over each model, one file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/core/layout.hpp"
#include "runtime/host/pool_result.hpp"
#include "runtime/log/run_dir.hpp"
#include "runtime/train/nn_context.hpp"

namespace hearsay::runtime {

struct ExportedModel {
  std::string rule;  // how it came from the peers' models, for people
  kernels::Layout layout;
  std::vector<float> weights;  // empty when nobody is alive
};

// `models`: final weights of the live peers in id order.
ExportedModel make_exported_model(const RunConfig& config, const NnContext& context,
                                  const std::vector<std::span<const float>>& models);

// Writes nothing for an empty model. `version` goes into the metadata. Throws a Fault with file and
// errno text.
void export_pool_model(const RunDir& run, const ExportedModel& model, const PoolResult& result,
                       const std::string& version);

}  // namespace hearsay::runtime
