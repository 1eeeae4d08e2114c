// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/peer_checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

using gossip::Archive;
using Json = Archive::Json;

// By what a shard is told from another one of the same run.
struct ShardMark {
  std::uint64_t peers = 0, examples = 0, steps_per_epoch = 0;
  void state(Archive& a) {
    a("peers", peers)("examples", examples)("steps_per_epoch", steps_per_epoch);
  }
  friend bool operator==(const ShardMark&, const ShardMark&) = default;
};

ShardMark shard_mark(const RunConfig& config, PeerWork& work) {
  return {config.peers, work.trainer().examples(), work.trainer().steps_per_epoch()};
}

void own_values(TensorPart& part, SnapshotPool& pool, Checkpoint& checkpoint) {
  for (std::span<const float>& piece : part.pieces) {
    checkpoint.owned.push_back(pool.copy(piece));
    piece = checkpoint.owned.back()->span();
  }
}

// The optimiser and the place in the schedule, as after `steps` mini-batches on other examples.
struct TrainerElsewhere {
  Trainer& trainer;
  std::uint64_t steps;
  void state(Archive& a) {
    trainer.skip_to(steps);
    trainer.take_optimizer(a);
  }
};

constexpr const char* kOwnStreams[] = {"blocks", "selector", "donor", "started"};
constexpr const char* kOwnNumbers[] = {"counters", "monitor",   "last_update_norm",
                                       "next_seq", "step_time", "backoff"};

// A protocol's state as it is before the first mini-batch of this pool, but with the clocks and
// streams of the old one: whom it knew and what was on its way belongs to another pool.
Json protocol_elsewhere(gossip::Protocol& protocol, const Json& old, std::uint64_t steps) {
  Archive fresh;
  fresh("protocol", protocol);
  Json json = fresh.json().at("protocol");
  const auto overlay = [](Json& to, const Json& from, const auto& keys) {
    for (const char* key : keys) {
      if (to.contains(key) && from.contains(key)) to[key] = from[key];
    }
  };
  overlay(json, old, kOwnStreams);
  overlay(json, old, kOwnNumbers);  // of the baselines
  if (json.contains("peer") && old.contains("peer"))
    overlay(json["peer"], old["peer"], kOwnNumbers);
  Json& counters = json.contains("peer") ? json["peer"]["counters"] : json["counters"];
  counters["steps"] = steps;
  return json;
}

void take_parts(Archive& archive, PeerWork& work) {
  archive("trainer", work.trainer())("model", work.model())("protocol", work.protocol());
}

// In place: the state of the same peer in a pool of another size.
void divide_anew(Json& state, const ShardMark& then, const ShardMark& now, PeerWork& work) {
  const auto done = state.at("trainer").at("steps").get<double>();
  const double epochs =
      done / static_cast<double>(std::max<std::uint64_t>(1, then.steps_per_epoch));
  const auto steps =
      static_cast<std::uint64_t>(std::llround(epochs * static_cast<double>(now.steps_per_epoch)));
  state["protocol"] = protocol_elsewhere(work.protocol(), state.at("protocol"), steps);
  state["steps"] = steps;
}

}  // namespace

void PeerSpent::add_to(PeerResult& result) const {
  result.payload_bytes += payload_bytes;
  result.wire_bytes += wire_bytes;
  if (result.example_bytes) *result.example_bytes += example_bytes.value_or(0);
  result.wall_s = result.wall_s.value_or(0.0) + wall_s;
  result.train_s = result.train_s.value_or(0.0) + train_s;
  result.io_cpu_s = result.io_cpu_s.value_or(0.0) + io_cpu_s;
}

PeerSpent PeerSpent::of(const PeerResult& r) {
  return {r.payload_bytes,         r.wire_bytes,
          r.example_bytes,         r.wall_s.value_or(0.0),
          r.train_s.value_or(0.0), r.cpu_s.value_or(0.0),
          r.io_cpu_s.value_or(0.0)};
}

Checkpoint peer_checkpoint(const RunDir& run, const RunConfig& config, const std::string& version,
                           const PeerResult& so_far, PeerWork& work, LiveHost& host,
                           std::span<const float> before_end_game) {
  Checkpoint made;
  made.about["kind"] = "peer";
  made.about["run"] = run.name();
  made.about["peer"] = so_far.name;
  made.about["version"] = version;
  made.about["samples"] = so_far.counters.samples;
  made.about["steps"] = so_far.counters.steps;
  made.about["mseq"] = so_far.counters.merges_applied;
  Archive archive;
  ShardMark shard = shard_mark(config, work);
  PeerSpent spent = PeerSpent::of(so_far);
  archive("shard", shard)("spent", spent)("host", host);
  take_parts(archive, work);
  made.owned = archive.arrays();
  made.tensors.push_back(arrays_part(made.owned));
  TensorPart model, optimizer;
  optimizer.file = kOptimizerFile;
  append_trainer(work.trainer(), work.layout(), "", model, optimizer);
  made.tensors.push_back(std::move(optimizer));
  own_values(made.tensors.back(), work.snapshots(), made);
  for (TensorPart& part : peer_model_parts(run, so_far, version, work.layout(),
                                           {work.trainer().read_weights(), before_end_game})) {
    made.tensors.push_back(std::move(part));
    own_values(made.tensors.back(), work.snapshots(), made);
  }
  made.state = archive.json();
  return made;
}

LoadedCheckpoint state_in_memory(const RunConfig& config, PeerWork& work) {
  Archive archive;
  ShardMark shard = shard_mark(config, work);
  PeerSpent spent;
  archive("shard", shard)("spent", spent);
  take_parts(archive, work);
  const Archive::Arrays arrays = archive.arrays();
  LoadedCheckpoint kept;
  kept.path = "memory";
  kept.state = archive.json();
  TensorPart model, optimizer, others = arrays_part(arrays);
  append_trainer(work.trainer(), work.layout(), "", model, optimizer);
  const auto keep = [&](const char* name, const TensorPart& part) {
    TensorFile& file = kept.tensors[name];
    file.layout = part.layout;
    file.values = kernels::Buffer<float>(part.layout.size());
    float* out = file.values.data();
    for (const auto piece : part.pieces) out = std::copy(piece.begin(), piece.end(), out);
  };
  keep(kModelFile, model);
  keep(kOptimizerFile, optimizer);
  keep(kArraysFile, others);
  return kept;
}

std::optional<LoadedCheckpoint> newest_peer_checkpoint(
    const RunDir& run, const std::string& peer,
    const std::function<void(const std::string&)>& damaged) {
  const auto is_of_peer = [&](const LoadedCheckpoint& from) {
    const auto is = [&](const char* key, const std::string& text) {
      const auto found = from.about.find(key);
      return found != from.about.end() && *found == text;
    };
    if (!is("kind", "peer") || !is("peer", peer))
      throw kernels::DamagedFile(from.file("state.json"), 0, "is not the state of " + peer);
  };
  return CheckpointStore(run.peer_checkpoints(peer)).load_newest(damaged, is_of_peer);
}

PeerSpent take_up(LoadedCheckpoint& from, const RunConfig& config, PeerWork& work) {
  PeerSpent spent;
  ShardMark then;
  const ShardMark now = shard_mark(config, work);
  try {
    Archive marks(from.state, {});
    marks("shard", then)("spent", spent);
    if (then != now && work.example_bytes() > 0) {
      throw kernels::UsageError(
          "--resume: examples have changed hands in this pool; go on with the "
          "peers, data and split that it began with");
    }
    if (then != now) divide_anew(from.state, then, now, work);
    Archive archive(from.state, take_arrays(from));
    archive.of_model(work.layout().size());
    if (then == now) {
      take_parts(archive, work);
    } else {
      TrainerElsewhere elsewhere{work.trainer(), from.state.at("steps").get<std::uint64_t>()};
      archive("trainer", elsewhere)("protocol", work.protocol());
    }
  } catch (const gossip::ArchiveFault& fault) {
    throw kernels::DamagedFile(from.file("state.json"), 0, fault.what());
  } catch (const nlohmann::json::exception&) {
    throw kernels::DamagedFile(from.file("state.json"), 0, "is no state of a peer");
  }
  TensorsTaken taken;  // after the trainer, which may have made its moments new
  take_trainer(work.trainer(), work.layout(), "", from, taken);
  return spent;
}

void take_up_host(LoadedCheckpoint& from, LiveHost& host) {
  try {
    Archive archive(from.state, {});
    archive("host", host);
  } catch (const gossip::ArchiveFault& fault) {
    throw kernels::DamagedFile(from.file("state.json"), 0, fault.what());
  }
}

}  // namespace hearsay::runtime
