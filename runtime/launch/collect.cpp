// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/collect.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "kernels/ops/gemm.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/data/partition.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/peer_files.hpp"
#include "runtime/host/thread_lane.hpp"
#include "runtime/launch/endpoint_file.hpp"
#include "runtime/train/evaluate.hpp"

namespace hearsay::runtime {
namespace {

// One peer's folder, read.
struct Left {
  PeerResult result;
  std::optional<PeerModel> model;  // of a peer that is alive
};

const PeerEnding* ending_of(const PoolEnding& ending, const std::string& name) {
  const auto found = std::find_if(ending.peers.begin(), ending.peers.end(),
                                  [&](const PeerEnding& peer) { return peer.name == name; });
  return found != ending.peers.end() ? &*found : nullptr;
}

PeerResult last_seen(const PeerStatus& status) {
  PeerResult result;
  result.counters.samples = status.samples;
  result.counters.merges_started = status.merges;
  result.counters.merges_applied = status.merges_applied;
  result.counters.merges_refused = status.merges_refused;
  result.payload_bytes = status.payload_bytes;
  result.wire_bytes = status.wire_bytes;
  return result;
}

// The model that goes with `result`; a Fault says why there is none.
PeerModel matching_model(const RunDir& run, const PeerResult& result,
                         const kernels::Layout& layout) {
  std::optional<PeerModel> model = read_peer_model(run, result.name);
  const std::string folder = run.peer_checkpoints(result.name);
  if (!model) throw kernels::DamagedFile(folder, 0, "there is a result, but no model");
  if (model->steps != result.counters.steps) {
    throw kernels::DamagedFile(folder, 0,
                               "the newest model is of step " + std::to_string(model->steps) +
                                   ", the result of step " + std::to_string(result.counters.steps));
  }
  if (const std::string name = layout.first_difference(model->layout); !name.empty())
    throw kernels::DamagedFile(folder, 0, "tensor '" + name + "' is not as --model says");
  return std::move(*model);
}

Left read_peer(const RunDir& run, const std::string& name, const PeerEnding* ending,
               const kernels::Layout& layout) {
  Left left;
  std::string why = "left no result";
  if (ending != nullptr && !ending->how && !ending->host.empty() && ending->host != host_name())
    why = "left its result on " + ending->host + ", which does not share " + run.path();
  try {
    if (auto result = read_peer_result(run, name)) {
      left.result = std::move(*result);
      why.clear();
      if (left.result.alive) left.model = matching_model(run, left.result, layout);
    }
  } catch (const kernels::Fault& fault) {  // this peer's loss, not the pool's
    why = fault.what();
  }
  if (left.result.name.empty() && ending != nullptr && ending->last)
    left.result = last_seen(*ending->last);
  left.result.name = name;
  // A peer that gave up itself ("diverged") knows better than whoever saw its process end.
  const bool gave_up = why.empty() && !left.result.alive;
  if (ending != nullptr && ending->how && !gave_up) why = *ending->how;
  if (!why.empty()) {
    left.result.alive = false;
    left.result.reason = why;
    left.model.reset();
  }
  return left;
}

std::vector<EndedPeer> ended_peers(const std::vector<Left>& pool, const Partition& partition) {
  std::vector<EndedPeer> ended(pool.size());
  for (std::size_t i = 0; i < pool.size(); ++i) {
    ended[i].known = pool[i].result;
    ended[i].known.shard = partition.owned[i].size();
    ended[i].group = partition.group.empty() ? 0u : partition.group[i];
    if (!pool[i].model) continue;
    ended[i].counted = pool[i].model->counted();
    ended[i].final_weights = pool[i].model->final_weights.span();
  }
  return ended;
}

}  // namespace

PoolResult collect_pool(const RunDir& run, const RunConfig& config, const PoolEnding& ending,
                        ExportedModel* exported) {
  kernels::use_one_blas_thread();
  const Dataset dataset = load_dataset(config.data, config.seed);
  const Partition partition = make_partition(config.split, dataset.train.labels,
                                             dataset.train.classes, config.peers, config.seed);
  ThreadLane lane(std::max(1u, std::thread::hardware_concurrency()));
  const std::unique_ptr<NnContext> made =
      build_context(config.model, dataset.train, lane.workers(),
                    std::max<std::size_t>(config.batch, kEvaluationChunk));
  NnContext& context = *made;
  std::vector<Left> pool;
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    const std::string name = gossip::peer_name(kernels::PeerId(i));
    pool.push_back(read_peer(run, name, ending_of(ending, name), context.model().layout()));
  }
  const auto evaluate_as = [&](std::size_t peer, std::span<const float> weights) {
    const auto label = [&](std::uint8_t l) {
      return rotated_label(partition, static_cast<std::uint32_t>(peer), l, dataset.test.classes);
    };
    return evaluate(context, dataset.test, weights, 0, label,
                    [&](std::size_t count, const auto& body) { lane.parallel_for(count, body); });
  };
  PoolResult result;
  result.wall_s = ending.wall_s;
  result.target_reached_s = ending.target_reached_s;
  result.target_best = ending.target_best;
  result.faults_never_fired = ending.faults_never_fired;
  summarise(ended_peers(pool, partition), build_pool_plan(config).end_game > 0, evaluate_as,
            result);
  judge(config, {.signal = ending.signal}, result);
  if (exported == nullptr) return result;
  std::vector<std::span<const float>> models;
  for (const Left& peer : pool) {
    if (peer.model) models.push_back(peer.model->final_weights.span());
  }
  *exported = make_exported_model(config, context, models);
  return result;
}

}  // namespace hearsay::runtime
