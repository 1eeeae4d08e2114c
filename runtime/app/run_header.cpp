// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/run_header.hpp"

#include <unistd.h>

#include <ctime>
#include <utility>

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
  if (facts.data_digest) j["data_digest"] = *facts.data_digest;
  if (facts.parameters) j["parameters"] = *facts.parameters;
  j["config"] = config_json(settings);
  return j;
}

gossip::Event header_event(const RunDir& run, const RunConfig& config, const RunFacts& facts,
                           std::optional<gossip::PeerId> peer) {
  gossip::Event event("run.started");
  event.add("run", run.name()).add("time", utc_now()).add("seed", config.seed);
  event.add("git", git_commit()).add("clock", std::string(facts.clock));
  event.add("peers", std::int64_t{config.peers}).add("launcher", std::string(facts.launcher));
  event.add("blas", kernels::blas_description()).add("device", std::string("cpu"));
  if (peer) {
    event.add("self", gossip::peer_name(*peer)).add("host", host_name());
    event.add("pid", static_cast<std::int64_t>(getpid()));
  }
  return event;
}

}  // namespace hearsay::runtime
