// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/resume_pool.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/checkpoint/checkpoint_store.hpp"
#include "runtime/checkpoint/state_file.hpp"
#include "runtime/config/protocol_kinds.hpp"
#include "runtime/log/atomic_file.hpp"
#include "runtime/log/event_writer.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;
using kernels::UsageError;
using Json = nlohmann::ordered_json;

const std::vector<std::string_view> kMayChange{
    "peers", "min-peers",        "epochs",     "time",        "target",   "chaos",     "restarts",
    "merge", "checkpoint-every", "eval-every", "merge-every", "schedule", "optimizer", "start-with",
    "device"};
// After these something is left to do.
const std::vector<std::string_view> kUnfinished{"interrupted", "log failed", "model not exported",
                                                "lost quorum", "stuck"};

std::string kind_of(const std::string& optimizer) {
  return optimizer.substr(0, optimizer.find(':'));
}

bool is_given(const Settings& settings, std::string_view name) {
  const std::string& origin = settings.origin(name);
  return origin == "flag" || origin.starts_with("environment ");
}

// What the newest checkpoint of a peer says, without its tensors.
std::optional<Json> newest_about(const RunDir& run, const std::string& peer) {
  const CheckpointStore store(run.peer_checkpoints(peer));
  auto numbers = store.numbers();
  for (; !numbers.empty(); numbers.pop_back()) {
    try {
      return read_sealed(run.peer_checkpoints(peer) + "/" +
                         CheckpointStore::name_of(numbers.back()) + "/state.json");
    } catch (const kernels::DamagedFile&) {  // the peer itself says so
      continue;
    }
  }
  return std::nullopt;
}

// Where a peer of a synchronous pool stands: its peers may begin together where they stand alike.
// Those of diloco come together at the end of a round, wherever in it each of them begins.
struct Standing {
  const char* unit = "mini-batch";
  std::uint64_t at = 0;
  bool within_a_round = false;
};

Standing standing_of(const std::string& protocol, const Json& about) {
  if (protocol != "diloco") return {"mini-batch", about.value("steps", std::uint64_t{0}), false};
  const Json& state = about.value("state", Json::object()).value("protocol", Json::object());
  return {"round", state.value("round", std::uint64_t{0}),
          state.value("steps_in_round", std::uint64_t{0}) > 0};
}

void check_synchronous(const ResumedPool& pool, const RunConfig& config) {
  const std::string& protocol = config.protocol.name;
  const Json recorded = pool.record.json.value("/config/peers/value"_json_pointer, Json());
  const bool same_size = recorded == pool.settings.text("peers");
  std::optional<std::pair<std::string, Standing>> first;
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    const std::string name = gossip::peer_name(kernels::PeerId(i));
    const auto about = newest_about(pool.run, name);
    if (!about) continue;  // the peer says so
    Standing here;
    try {
      here = standing_of(protocol, *about);
    } catch (const Json::exception&) {  // the peer says so
      continue;
    }
    if (!first) first = {name, here};
    if (first->second.at != here.at) {
      throw UsageError("--resume: " + first->first + " stands at " + here.unit + " " +
                       std::to_string(first->second.at) + ", " + name + " at " +
                       std::to_string(here.at) + "; --protocol " + protocol + " goes on from one " +
                       here.unit +
                       " of all (as after Ctrl-C): move newer "
                       "folders of " +
                       pool.run.path() + "/peers/*/ckpt away");
    }
    if (here.within_a_round && !same_size) {
      throw UsageError("--peers " + pool.settings.text("peers") + ": " + name +
                       " stands within a round, and --protocol diloco changes its size between two "
                       "only; go on with the peers there were, and stop by Ctrl-C");
    }
  }
}

}  // namespace

bool wants_resume(const Settings& settings) {
  return parse_boolean("--resume", settings.text("resume")) && !settings.text("run").empty();
}

ResumedPool resumed_pool(const Settings& given, const Arguments& arguments,
                         const Environment& environment) {
  const RunDir run = RunDir::open(given.text("run"));
  RunRecord record = read_run_record(run);
  if (record.command != "launch" && record.command != "train") {
    throw UsageError("--resume: the run in " + run.path() + " was made by hearsay " +
                     record.command + "; resume it with that");
  }
  Settings settings =
      resume_settings(arguments, environment, run.path(), run.run_json(), kMayChange);
  Settings before = settings;  // as the run was
  for (const std::string_view name : kMayChange) {
    const auto& config = record.json["config"];
    const auto found = config.is_object() ? config.find(std::string(name)) : config.end();
    if (found != config.end() && found->is_object() && (*found)["value"].is_string())
      before.set(name, {(*found)["value"].get<std::string>()}, "run.json");
  }
  if (kind_of(settings.text("optimizer")) != kind_of(before.text("optimizer"))) {
    throw UsageError("--optimizer " + settings.text("optimizer") + ": the run in " + run.path() +
                     " has " + before.text("optimizer") +
                     ", and its moments are of no use to another kind; leave it out");
  }
  if (!is_given(settings, "chaos")) settings.set("chaos", {"off"}, "default");
  if (!is_given(settings, "peers")) settings.set("peers", {settings.text("peers")}, "run.json");
  settings.set("run", {run.path()}, "flag");
  return {run, std::move(record), std::move(settings)};
}

void check_resumable(const ResumedPool& pool, const RunConfig& config) {
  const bool longer = is_given(pool.settings, "epochs") || is_given(pool.settings, "time") ||
                      is_given(pool.settings, "target");
  if (!longer) refuse_complete(pool.run, kUnfinished);
  bool any = false;
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    const std::string name = gossip::peer_name(kernels::PeerId(i));
    any |= !CheckpointStore(pool.run.peer_checkpoints(name)).numbers().empty();
  }
  if (!any) {
    throw UsageError("--resume: nothing to resume in " + pool.run.path() +
                     ": no peer has a checkpoint; start again with --config " +
                     pool.run.run_json());
  }
  if (is_synchronous(config.protocol.name)) check_synchronous(pool, config);
}

void refuse_running(const ResumedPool& pool, const RunConfig& config) {
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    const std::string log = pool.run.peer_events(gossip::peer_name(kernels::PeerId(i)));
    if (!log_is_held(log)) continue;
    throw UsageError("--resume: the run in " + pool.run.path() +
                     " has not ended: a process writes " + log + "; wait for it");
  }
}

void take_up_run(const ResumedPool& pool, const RunConfig& config, const RunFacts& facts) {
  const RunDir& run = pool.run;
  Json json = run_json(run, pool.settings, config, facts);
  Json& resumed = json["resumed"];
  resumed = pool.record.json.value("resumed", Json::array());
  resumed.push_back(json["started"]);
  json["started"] = pool.record.json.value("started", "");
  for (const char* key : {"data_digest", "parameters"}) {
    if (!json.contains(key) && pool.record.json.contains(key)) json[key] = pool.record.json[key];
  }
  write_file_atomically(run.run_json(), json.dump(2) + "\n");
}

void give_back_run(const ResumedPool& pool) {
  write_file_atomically(pool.run.run_json(), pool.record.json.dump(2) + "\n");
}

void clear_results(const RunDir& run, const RunConfig& config) {
  std::error_code ignored;
  fs::remove(run.result_json(), ignored);
  fs::remove(run.exported_model(), ignored);
  fs::remove(fs::path(run.exported_model()).replace_filename("model.json"), ignored);
  for (std::uint32_t i = 0; i < config.peers; ++i)
    fs::remove(run.peer_result(gossip::peer_name(kernels::PeerId(i))), ignored);
}

}  // namespace hearsay::runtime
