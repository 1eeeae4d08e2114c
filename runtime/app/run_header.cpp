// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/run_header.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <utility>

#include "kernels/core/errc.hpp"
#include "kernels/ops/gemm.hpp"
#include "runtime/app/version.hpp"
#include "runtime/launch/endpoint_file.hpp"
#include "runtime/log/event_writer.hpp"

namespace hearsay::runtime {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

nlohmann::ordered_json run_json(const RunDir& run, const Settings& settings,
                                const RunConfig& config, const RunFacts& facts) {
  nlohmann::ordered_json j;
  j["schema"] = kEventSchema;
  j["run"] = run.name();
  j["started"] = utc_now();
  j["version"] = version_number();
  j["git"] = git_commit();
  j["build"] = build_text();
  j["command"] = facts.command;
  j["clock"] = facts.clock;
  j["hosts"] = {host_name()};
  j["launcher"] = facts.launcher;
  if (!facts.session.empty()) j["session"] = facts.session;
  j["seed"] = config.seed;
  j["peers"] = config.peers;
  if (facts.threads) j["threads"] = *facts.threads;
  j["blas"] = kernels::blas_description() + ", 1 thread a peer";
  if (!facts.device.empty()) j["device"] = facts.device;
  if (facts.data_digest) j["data_digest"] = *facts.data_digest;
  if (facts.parameters) j["parameters"] = *facts.parameters;
  j["config"] = config_json(settings);
  return j;
}

RunRecord read_run_record(const RunDir& run) {
  std::ifstream in(run.run_json(), std::ios::binary);
  if (!in) {
    throw kernels::UsageError("--resume: nothing to resume in " + run.path() +
                              ": there is no run.json; start a run with --run DIR");
  }
  RunRecord record;
  record.json = nlohmann::ordered_json::parse(in, nullptr, false);
  const auto text = [&](const char* key) -> std::optional<std::string> {
    if (!record.json.is_object()) return std::nullopt;
    const auto found = record.json.find(key);
    return found != record.json.end() && found->is_string()
               ? std::optional(found->get<std::string>())
               : std::nullopt;
  };
  record.command = text("command").value_or("");
  record.blas = text("blas").value_or("");
  record.device = text("device").value_or("cpu");
  record.data_digest = text("data_digest");
  if (record.command.empty()) {
    throw kernels::DamagedFile(run.run_json(), 0,
                               "is not what hearsay writes, so the run cannot be resumed");
  }
  return record;
}

void refuse_complete(const RunDir& run, const std::vector<std::string_view>& unfinished) {
  std::ifstream in(run.result_json(), std::ios::binary);
  if (!in) return;
  const auto json = nlohmann::ordered_json::parse(in, nullptr, false);
  if (!json.is_object() || !json.contains("verdict") || !json["verdict"].is_string()) return;
  const auto verdict = json["verdict"].get<std::string>();
  if (std::find(unfinished.begin(), unfinished.end(), verdict) != unfinished.end()) return;
  throw kernels::UsageError("--resume: the run in " + run.path() + " is complete (verdict " +
                            verdict + "); nothing is left to do");
}

gossip::Event header_event(const RunDir& run, const RunConfig& config, const RunFacts& facts,
                           std::optional<gossip::PeerId> peer) {
  gossip::Event event("run.started");
  event.add("run", run.name()).add("time", utc_now()).add("seed", config.seed);
  event.add("git", git_commit()).add("clock", std::string(facts.clock));
  event.add("peers", std::int64_t{config.peers}).add("launcher", std::string(facts.launcher));
  event.add("blas", kernels::blas_description());
  event.add("device", facts.device.empty() ? config.device : facts.device);
  if (peer) {
    event.add("self", gossip::peer_name(*peer)).add("host", host_name());
    event.add("pid", static_cast<std::int64_t>(getpid()));
  }
  return event;
}

}  // namespace hearsay::runtime
