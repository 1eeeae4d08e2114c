// SPDX-License-Identifier: Apache-2.0
// hearsay replay RUN: makes a live run again from its journals and its data set (a simulation from
// its seed, replay_simulation.hpp), and holds events and weights against what the run has logged;
// or with one thing changed, beside what it was.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <thread>

#include <nlohmann/json.hpp>

#include "kernels/core/digest.hpp"
#include "kernels/core/errc.hpp"
#include "kernels/ops/gemm.hpp"
#include "runtime/app/blas_core.hpp"
#include "runtime/app/catalog.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/replay_simulation.hpp"
#include "runtime/app/run_header.hpp"
#include "runtime/app/styled_line.hpp"
#include "runtime/config/config.hpp"
#include "runtime/config/protocol_kinds.hpp"
#include "runtime/device/device_choice.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/peer_files.hpp"
#include "runtime/log/safetensors.hpp"
#include "runtime/replay/run_replay.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;
using Json = nlohmann::ordered_json;

Option own(std::string_view name, std::string_view placeholder, std::string_view help,
           std::string_view detail) {
  return Option{.name = name,
                .default_text = "off",
                .kind = ValueKind::text,
                .placeholder = placeholder,
                .help = help,
                .detail = detail,
                .group = "replay"};
}

const CommandSyntax& replay_syntax() {
  static const CommandSyntax syntax{
      .name = "replay",
      .words = "RUN",
      .summary = "make a run again, bit for bit, from its journals or its seed (runs/latest)",
      .options = {"threads", "json", "quiet"},
      .own = {own("until", "p03@120", "stop after a merge, and keep that peer's model",
                  "The model is written to --model-out, p03@120.safetensors without it."),
              own("swap", "merge=SPEC", "another merge rule, or codec=SPEC",
                  "Same data, draws, partners and arrivals; prints both results."),
              own("drop-peer", "p05", "the same run, but nobody gets what that peer sends", ""),
              own("seed-data", "SEED", "the same run on data dealt by another seed", ""),
              own("model-out", "FILE", "where the model of --until goes", "")},
      .max_words = 1,
      .examples = {"hearsay replay", "hearsay replay runs/latest --until p03@120",
                   "hearsay replay runs/latest --swap merge=ema:0.1"}};
  return syntax;
}

std::uint32_t peer_of(std::string_view option, std::string_view text, std::uint32_t peers) {
  std::uint64_t number = peers;
  if (text.size() > 1 && text.front() == 'p') number = parse_count(option, text.substr(1));
  if (number >= peers) {
    throw UsageError(std::string(option) + " " + std::string(text) +
                     ": the run has the peers p00 to " +
                     gossip::peer_name(kernels::PeerId(peers - 1)));
  }
  return static_cast<std::uint32_t>(number);
}

ReplayPlan plan_of(const Arguments& arguments, const RunConfig& config) {
  ReplayPlan plan;
  if (const auto text = arguments.value("until")) {
    const std::size_t at = text->find('@');
    if (at == std::string::npos) throw UsageError("--until " + *text + ": write p03@120");
    plan.until = {peer_of("--until", text->substr(0, at), config.peers),
                  parse_count("--until", text->substr(at + 1))};
  }
  if (const auto text = arguments.value("swap")) {
    RunConfig swapped = config;
    if (text->starts_with("merge=")) {
      plan.merge = swapped.merge = parse_spec("--swap merge", text->substr(6));
    } else if (text->starts_with("codec=")) {
      plan.codec = swapped.codec = parse_spec("--swap codec", text->substr(6));
    } else {
      throw UsageError("--swap " + *text +
                       ": the merge rule or the codec can be swapped: merge=ema:0.1, codec=int8");
    }
    check_names(swapped);
    build_pool_plan(swapped);
    const bool other_frames = (config.codec.name == "raw") != (swapped.codec.name == "raw");
    if (is_synchronous(config.protocol.name) && other_frames) {
      throw UsageError("--swap " + *text + ": --protocol " + config.protocol.name +
                       " sends other messages in a codec than without one, which no log of this "
                       "run has; take hearsay sim --config with --codec");
    }
  }
  if (const auto text = arguments.value("drop-peer"))
    plan.dropped = peer_of("--drop-peer", *text, config.peers);
  if (const auto text = arguments.value("seed-data"))
    plan.data_seed = parse_count("--seed-data", *text);
  plan.checks = !plan.merge && !plan.codec && !plan.dropped && !plan.data_seed;
  return plan;
}

struct Recorded {
  std::optional<PeerResult> result;
  std::string model_digest;  // of its last weights; empty where it has left none
  std::string damage;        // what of the two cannot be read
};

Recorded recorded_of(const RunDir& run, const std::string& peer) {
  Recorded found;
  try {
    found.result = read_peer_result(run, peer);
    if (const auto model = read_peer_model(run, peer); model && found.result)
      found.model_digest = kernels::digest(model->final_weights.span()).hex();
  } catch (const kernels::DamagedFile& fault) {
    found.damage = fault.what();
  }
  return found;
}

struct Comparison {
  RunReplay replay;
  std::vector<Recorded> before;
  std::size_t models_equal = 0, models_compared = 0;
  std::vector<std::string> differences;
};

Comparison compare(const RunDir& run, RunReplay replay, bool checks) {
  Comparison found;
  for (const PeerReplayResult& peer : replay.peers) {
    found.before.push_back(recorded_of(run, peer.peer));
    const Recorded& before = found.before.back();
    if (!before.damage.empty()) replay.damage.push_back(before.damage);
    found.differences.insert(found.differences.end(), peer.differences.begin(),
                             peer.differences.end());
    if (!checks || before.model_digest.empty() || !peer.complete) continue;
    ++found.models_compared;
    if (kernels::digest(peer.weights).hex() == before.model_digest) {
      ++found.models_equal;
    } else if (peer.differences.empty()) {
      found.differences.push_back(peer.peer + ": another model at the end");
    }
  }
  found.replay = std::move(replay);
  return found;
}

std::string percent(std::optional<double> share) {
  if (!share) return "-";
  char text[16];
  std::snprintf(text, sizeof text, "%.2f %%", 100.0 * *share);
  return text;
}

void print_both(const Comparison& found) {
  std::cout << "peer   recorded   replayed   merges then  now   frames that nobody sent\n";
  for (std::size_t i = 0; i < found.replay.peers.size(); ++i) {
    const PeerReplayResult& now = found.replay.peers[i];
    const auto& before = found.before[i].result;
    std::optional<double> accuracy;
    if (before) accuracy = before->test.accuracy;
    char line[128];
    std::snprintf(line, sizeof line, "%-6s %-10s %-10s %11s  %-5llu %llu\n", now.peer.c_str(),
                  percent(accuracy).c_str(), percent(now.test_acc).c_str(),
                  before ? std::to_string(before->counters.merges_applied).c_str() : "-",
                  static_cast<unsigned long long>(now.merges),
                  static_cast<unsigned long long>(now.frames_missing));
    std::cout << line;
  }
}

void print_check(const Comparison& found) {
  const RunReplay& replay = found.replay;
  std::uint64_t events = 0;
  for (const PeerReplayResult& peer : replay.peers) events += peer.events;
  for (const std::string& line : found.differences)
    std::cout << "differs    " << printable(line) << "\n";
  char took[32];
  std::snprintf(took, sizeof took, "%.1f s", replay.wall_s);
  std::cout << replay.merges() << " merges replayed in " << took << ", "
            << (found.differences.empty() ? "all " : "not all ") << replay.digests() << " digests, "
            << events << " events and " << found.models_equal << " of " << found.models_compared
            << " models at the end equal\n";
}

Json json_of(const Comparison& found, const ReplayPlan& plan) {
  Json j;
  j["merges"] = found.replay.merges();
  j["digests"] = found.replay.digests();
  j["checked"] = plan.checks;  // false: with something changed, or in tolerance mode
  j["equal"] = found.differences.empty();
  j["complete"] = found.replay.is_complete();
  j["models_equal"] = found.models_equal;
  j["models_compared"] = found.models_compared;
  j["wall_s"] = found.replay.wall_s;
  j["differences"] = found.differences;
  j["damage"] = found.replay.damage;
  Json& peers = j["peers"] = Json::array();
  for (std::size_t i = 0; i < found.replay.peers.size(); ++i) {
    const PeerReplayResult& peer = found.replay.peers[i];
    const auto& before = found.before[i].result;
    Json one{{"peer", peer.peer}, {"merges", peer.merges}, {"digests", peer.digests}};
    one["events"] = peer.events;
    one["steps"] = peer.steps;
    one["complete"] = peer.complete;
    one["digest"] = peer.weights.empty() ? "" : kernels::digest(peer.weights).hex();
    one["test_acc"] = peer.test_acc ? Json(*peer.test_acc) : Json();
    one["recorded_test_acc"] = before ? Json(before->test.accuracy) : Json();
    one["frames_missing"] = peer.frames_missing;
    one["damage"] = peer.damage;
    peers.push_back(std::move(one));
  }
  return j;
}

void write_model(const std::string& path, const PeerReplayResult& peer, const RunConfig& config) {
  const PeerWork work(config, kernels::PeerId(0), SnapshotPool());
  write_safetensors(path, work.layout(), peer.weights,
                    {{"peer", peer.peer}, {"merges", std::to_string(peer.merges)}});
}

// Bits can only be those of the recording where the same kernels compute them. Starts the program
// anew with the recorded ones where it can; returns what is to be said when it cannot.
std::string take_recorded_core(const RunRecord& record, const std::vector<std::string>& args) {
  const std::string own = kernels::blas_description() + ", 1 thread a peer";
  if (record.blas.empty() || record.blas == own) return {};
  if (const auto core = core_to_take(record.blas, own)) {
    std::vector<std::string> words{"replay"};
    words.insert(words.end(), args.begin(), args.end());
    start_with_core(*core, words);
  }
  return "recorded with " + record.blas + ", replayed with " + own +
         ": bits differ, so results are shown side by side and nothing is held against them";
}

std::string card(const std::string& device) {
  return device.substr(std::min(device.find(' '), device.size()));
}

// Where the run has trained: "cpu", "cuda:0 NVIDIA H200"; of peers on several kinds of GPU one that
// is not `here`.
std::string recorded_device(const RunRecord& record, const RecordedRun* recorded,
                            const DeviceChoice& here) {
  if (recorded == nullptr) return record.device;
  std::string device = "cpu";
  for (const RecordedPeer& peer : recorded->peers) {
    for (const RecordedSession& session : peer.sessions) {
      const auto found = session.head.config.find("device");
      if (found == session.head.config.end() || found->second == "cpu") continue;
      if (device == "cpu" || card(device).empty() || card(device) == card(here.text))
        device = session.head.device.empty() ? found->second : session.head.device;
    }
  }
  return device;
}

// Trains where the run has trained, if that is possible here; returns what is to be said if not.
std::string take_recorded_device(const RunRecord& record, const RecordedRun* run,
                                 ReplayPlan& plan) {
  plan.device = "cpu";
  if (recorded_device(record, run, {}) == "cpu") return {};
  const DeviceChoice here = choose_devices("auto");
  const std::string recorded = recorded_device(record, run, here);
  if (here.on_gpu()) plan.device = "cuda";
  if (here.on_gpu() && (card(recorded).empty() || card(recorded) == card(here.text))) return {};
  return "recorded on " + recorded + ", replayed on " + here.text +
         ": bits differ, so results are shown side by side and nothing is held against them";
}

int replay(const Arguments& arguments, const std::vector<std::string>& args) {
  const std::string path = arguments.words.empty() ? "runs/latest" : arguments.words.front();
  const RunDir run = RunDir::open(path);
  const RunRecord record = read_run_record(run);
  Arguments from_run;
  from_run.flags.emplace_back("config", run.run_json());
  RunConfig config = typed_config(merge_settings(from_run, {}));
  ReplayPlan plan = plan_of(arguments, config);
  std::string tolerance = take_recorded_core(record, args);
  std::optional<RecordedRun> recorded;
  if (record.command != "sim") recorded = find_recording(run, config.peers);
  const std::string elsewhere = take_recorded_device(record, recorded ? &*recorded : nullptr, plan);
  if (tolerance.empty()) tolerance = elsewhere;
  config.device = *plan.device;
  if (!tolerance.empty()) plan.checks = false;
  const auto threads_text = arguments.value("threads");
  const std::uint64_t asked = threads_text ? parse_count("--threads", *threads_text) : 0;
  const std::size_t threads = asked > 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
  if (!tolerance.empty()) std::cerr << "hearsay: tolerance mode: " << tolerance << "\n";
  if (record.command == "sim")
    return replay_simulation(run, record, config, plan, threads, arguments);
  const bool json = wants_json(arguments), quiet = arguments.is_on("quiet") || json;
  const auto progress = [&](const PeerReplayResult& peer) {
    if (quiet) return;
    std::cerr << peer.peer << "  " << peer.merges << " merges, " << peer.steps << " mini-batches"
              << (peer.complete ? "" : ", not to its end") << std::endl;
  };
  const Comparison found = compare(run, replay_run(*recorded, config, plan, threads, progress),
                                   plan.checks && !plan.until);
  if (json) {
    std::cout << json_of(found, plan).dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  } else {
    for (const std::string& line : found.replay.damage)
      std::cout << "damaged    " << printable(line) << "\n";
    for (const PeerReplayResult& peer : found.replay.peers)
      for (const std::string& line : peer.damage)
        std::cout << "damaged    " << printable(line) << "\n";
    plan.checks ? print_check(found) : print_both(found);
  }
  if (plan.until) {
    const PeerReplayResult& peer = found.replay.peers[plan.until->peer];
    if (peer.merges < plan.until->mseq) {
      throw UsageError("--until: " + peer.peer + " has " + std::to_string(peer.merges) +
                       " merges in what can be replayed");
    }
    const std::string out =
        arguments.value("model-out").value_or(*arguments.value("until") + ".safetensors");
    write_model(out, peer, config);
    if (!quiet) std::cerr << "model written to " << out << "\n";
  }
  if (!found.differences.empty()) return static_cast<int>(kernels::ExitCode::check_failed);
  const bool damaged = !found.replay.is_complete() && !plan.until && plan.checks;
  return static_cast<int>(damaged ? kernels::ExitCode::damaged : kernels::ExitCode::ok);
}

}  // namespace

int command_replay(const std::vector<std::string>& args) {
  const CommandSyntax& syntax = replay_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  return replay(arguments, args);
}

}  // namespace hearsay::runtime
