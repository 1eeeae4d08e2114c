// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/export_model.hpp"

#include <cstdint>

#include <nlohmann/json.hpp>

#include "kernels/core/digest.hpp"
#include "runtime/log/atomic_file.hpp"
#include "runtime/log/safetensors.hpp"
#include "runtime/train/standardisation.hpp"

namespace hearsay::runtime {

ExportedModel make_exported_model(const RunConfig& config, const NnContext& context,
                                  const std::vector<std::span<const float>>& models) {
  const bool alone = config.protocol.name == "local";
  ExportedModel model;
  model.rule = alone ? "first live peer" : "uniform mean of the live peers";
  model.layout = context.model().layout();
  if (models.empty()) return model;
  model.weights = alone ? mean_weights({models.front()}) : mean_weights(models);
  fold_into_first_layer(context.input(), context.model(), model.weights);
  return model;
}

void export_pool_model(const RunDir& run, const ExportedModel& model, const PoolResult& result,
                       const std::string& version) {
  if (model.weights.empty()) return;
  std::uint64_t samples = 0;
  std::string parents;
  nlohmann::ordered_json peers = nlohmann::ordered_json::array();
  for (const PeerResult& peer : result.peers) {
    if (!peer.alive) continue;
    samples += peer.counters.samples;
    parents += (parents.empty() ? "" : ",") + peer.name + ":" +
               std::to_string(peer.counters.merges_applied);
    peers.push_back(peer.name);
  }
  const std::string input = "byte / 255, row by row";
  write_safetensors(run.prepare_exported_model(), model.layout, model.weights,
                    {{"format", "pt"},
                     {"hearsay.run", run.name()},
                     {"hearsay.peer", "pool"},
                     {"hearsay.version", version},
                     {"hearsay.samples", std::to_string(samples)},
                     {"hearsay.parents", parents},
                     {"hearsay.input", input}});
  nlohmann::ordered_json j;
  j["rule"] = model.rule;
  j["peers"] = peers;
  j["input"] = input;
  j["test_acc"] = result.test_acc_averaged_model;
  j["digest"] = kernels::digest(model.weights).hex();
  const std::string path = run.exported_model();
  write_file_atomically(path.substr(0, path.find_last_of('/')) + "/model.json", j.dump(2) + "\n");
}

}  // namespace hearsay::runtime
