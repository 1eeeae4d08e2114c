// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/by_hand.hpp"

#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/app/catalog.hpp"
#include "runtime/app/pool_end.hpp"
#include "runtime/app/run_header.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/unwatched.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/host/live_peer.hpp"
#include "runtime/log/run_dir.hpp"
#include "runtime/metrics/served_display.hpp"
#include "runtime/net/join.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;
using kernels::PeerId;
using kernels::UsageError;

const RunFacts kFacts{"train", "by hand", "monotonic", {}, {}, {}};
PeerPlace place_of(const std::vector<Endpoint>& addresses) {
  PeerPlace place;
  for (std::uint32_t i = 0; i < addresses.size(); ++i)
    place.book.push_back({PeerId(i), 0, addresses[i]});
  return place;
}

int first_peer(RunConfig config, const Settings& settings) {
  refuse_watched_options(config,
                         "nobody watches a pool that is started by hand; use hearsay launch -n N");
  // A preset's pool is one to simulate or launch; by hand every peer takes a person.
  const std::string origin = settings.origin("peers");
  if (origin == "default" || origin.starts_with("preset ")) config.peers = 1;
  if (config.min_peers > config.peers)
    throw UsageError("--min-peers " + std::to_string(config.min_peers) + ": the pool has only " +
                     std::to_string(config.peers));
  const Endpoint listen = parse_endpoint("--listen", config.listen);
  refuse_open_address(config, listen);
  ServedPeer metrics(config);
  LivePeer peer(config, PeerId(0), PeerSocket(config));
  RunFacts facts = kFacts;
  facts.data_digest = peer.work().data_digest();
  facts.parameters = peer.work().layout().size();
  Settings effective = settings;
  effective.set("peers", {std::to_string(config.peers)}, settings.origin("peers"));
  const RunDir run = begin_run(effective, config, facts);
  const std::string address = peer.announced().text();
  say(config, "p00 of " + std::to_string(config.peers) + "  " + address + "  ->  " + run.path());
  std::vector<Endpoint> addresses{peer.announced()};
  if (config.peers > 1) say(config, "join with  hearsay train --join " + address);
  WaitingWords patience(config);
  Gathering plan;
  plan.wanted = config.peers - 1;
  plan.judge = [&](std::size_t index, const std::string& request) -> std::string {
    const Json j = Json::parse(request, nullptr, false);
    const auto at = j.is_object() ? j.find("address") : j.end();
    if (!j.is_object() || at == j.end() || !at->is_string()) return "a request without an address";
    try {
      addresses.resize(index + 1);
      addresses.push_back(parse_endpoint("address", at->get<std::string>()));
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  };
  plan.answer = [&](std::size_t index) {
    Json j;
    j["peer"] = index + 1;
    j["run"] = std::filesystem::absolute(run.path()).string();
    j["config"] = config_json(effective);
    for (const Endpoint& each : addresses) j["addresses"].push_back(each.text());
    return j.dump();
  };
  plan.tick = [&](std::size_t here) {
    return patience.tick("waiting for " + std::to_string(plan.wanted - here) + " of " +
                         std::to_string(config.peers) +
                         " peers (--peers sets the number, Ctrl-C gives up)");
  };
  if (!peer.transport().gather(plan)) {
    discard_run(run);
    return 128 + stop_signal();
  }
  return train_unwatched(peer, run, PeerId(0), place_of(addresses), kFacts, metrics);
}

void refuse_pool_options(const Settings& settings) {
  for (const Option& option : option_table()) {
    const bool own = option.name == "join" || option.name == "listen" ||
                     option.name == "insecure" || option.name == "json" || option.name == "quiet" ||
                     option.name == "run" || option.name == "metrics";
    if (!own && settings.origin(option.name) == "flag") {
      throw UsageError("--" + std::string(option.name) +
                       ": comes from the first peer when joining; leave it out");
    }
  }
}

// The run directory of the first peer, when this machine sees it; else one of the same name here.
RunDir run_dir_of(const RunConfig& own, const std::string& path) {
  if (own.run_dir.empty() && std::filesystem::is_directory(path)) return RunDir::open(path);
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return RunDir::create(own.run_dir.empty() ? "runs/" + name : own.run_dir);
}

int join_pool(const RunConfig& own, const Settings& settings) {
  refuse_pool_options(settings);
  const Endpoint first = parse_endpoint("--join", *own.join);
  ServedPeer metrics(own);
  WaitingWords patience(own);
  const auto tick = [&](const std::string& why) {
    return patience.tick("joining " + first.text() + ": " + why);
  };
  auto client = JoinClient::dial(first, tick);
  if (!client) return 128 + stop_signal();
  Endpoint listen = parse_endpoint("--listen", own.listen);
  if (settings.origin("listen") == "default") listen.host = client->local_host();
  refuse_open_address(own, listen);
  // The port is taken before the place in the pool is known, and kept.
  PeerSocket socket(own, listen);
  const auto answer =
      client->ask(Json{{"address", socket.transport->announced().text()}}.dump(), tick);
  if (!answer) return 128 + stop_signal();
  const Json j = Json::parse(*answer);
  Settings pool = settings;
  for (const auto& [name, values] : parse_config_text(*answer, "the first peer"))
    pool.set(name, values, "first peer");
  RunConfig config = typed_config(pool);
  config.quiet = own.quiet;
  config.json = own.json;
  const PeerId self(j.at("peer").get<std::uint32_t>());
  std::vector<Endpoint> addresses;
  for (const Json& each : j.at("addresses"))
    addresses.push_back(parse_endpoint("address", each.get<std::string>()));
  LivePeer peer(config, self, std::move(socket));
  const RunDir run = run_dir_of(own, j.at("run").get<std::string>());
  say(own, gossip::peer_name(self) + " of " + std::to_string(config.peers) + "  " +
               peer.announced().text() + "  ->  " + run.path());
  return train_unwatched(peer, run, self, place_of(addresses), kFacts, metrics);
}

}  // namespace

int train_by_hand(RunConfig config, const Settings& settings) {
  catch_stop_signals();
  catch_checkpoint_signal();
  return config.join ? join_pool(config, settings) : first_peer(std::move(config), settings);
}

}  // namespace hearsay::runtime
