// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/by_hand.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/app/catalog.hpp"
#include "runtime/app/pool_end.hpp"
#include "runtime/app/run_header.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/version.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/host/live_peer.hpp"
#include "runtime/host/peer_files.hpp"
#include "runtime/launch/collect.hpp"
#include "runtime/log/run_dir.hpp"
#include "runtime/metrics/served_display.hpp"
#include "runtime/net/join.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;
using kernels::ExitCode;
using kernels::PeerId;
using kernels::UsageError;
using namespace std::chrono_literals;

const RunFacts kFacts{"train", "by hand", "monotonic", {}, {}, {}};
constexpr auto kSayWaiting = 10s;
constexpr auto kWaitForResults = 5s;  // of the other peers, after the own end
constexpr auto kProgressInterval = 10s;

void say(const RunConfig& config, const std::string& line) {
  if (!config.quiet) std::cerr << line << std::endl;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

void refuse_open_address(const RunConfig& config, const Endpoint& listen) {
  if (is_loopback(listen.host) || config.insecure) return;
  throw UsageError("--listen: " + listen.text() +
                   " is not loopback, and frames travel unprotected; add --insecure on a network "
                   "where everybody is trusted");
}

// Says once in a while what is being waited for, and lets a signal end the waiting.
class Patience {
 public:
  explicit Patience(const RunConfig& config) : config_(config) {}
  bool tick(const std::string& line) {
    const auto now = std::chrono::steady_clock::now();
    if (now - said_ >= kSayWaiting || line != last_) {
      say(config_, line);
      said_ = now;
      last_ = line;
    }
    return stop_signal() == 0;
  }

 private:
  const RunConfig& config_;
  std::string last_;
  std::chrono::steady_clock::time_point said_{};
};

LivePeer::Outside outside_of(const RunConfig& config, PeerId self) {
  LivePeer::Outside outside;
  outside.poll = [&config, start = std::chrono::steady_clock::now()](LiveOrders& orders) {
    const std::chrono::duration<double> ran = std::chrono::steady_clock::now() - start;
    if (config.time_s && ran.count() >= *config.time_s) orders.stop = "time";
    // The others go on, so not "interrupted": that is said of whole pools.
    if (stop_signal() != 0) orders.stop = "told to leave";
  };
  outside.status = [&config, self,
                    last = std::chrono::steady_clock::time_point{}](const PeerStatus& s) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now - last < kProgressInterval) return;
    last = now;
    char text[160], accuracy[16] = "-";  // before the first evaluation there is none
    if (s.accuracy >= 0.0) std::snprintf(accuracy, sizeof accuracy, "%.4f", s.accuracy);
    std::snprintf(text, sizeof text, "%s  epoch %.1f  loss %.3f  acc %s  merges %llu  sent %.1f MB",
                  gossip::peer_name(self).c_str(), s.epochs, s.loss, accuracy,
                  static_cast<unsigned long long>(s.merges),
                  1e-6 * static_cast<double>(s.payload_bytes));
    say(config, text);
  };
  outside.notice = [&config](const std::string& text) { say(config, text); };
  outside.checkpoint_asked = take_checkpoint_request;
  return outside;
}

// The last peer to stop writes the pool's result: every peer writes its own before it looks for the
// others', so whoever comes last sees all. A peer that left nothing is not waited for longer than a
// while, staggered so that one of the others is first.
int write_result_if_last(const RunDir& run, const RunConfig& config, PeerId self, double wall_s,
                         int own_code) {
  const auto all_there = [&] {
    for (std::uint32_t i = 0; i < config.peers; ++i) {
      if (!std::filesystem::exists(run.peer_result(gossip::peer_name(PeerId(i))))) return false;
    }
    return true;
  };
  const auto give_up = std::chrono::steady_clock::now() + kWaitForResults + self.value * 1s;
  const bool alone = stop_signal() != 0;  // told to go: the others go on
  while (!all_there() && !alone && std::chrono::steady_clock::now() < give_up) {
    if (std::filesystem::exists(run.result_json())) return own_code;
    std::this_thread::sleep_for(100ms);
  }
  if (std::filesystem::exists(run.result_json()) || (alone && !all_there())) return own_code;
  // Several may see all at once: one of them gets the name.
  const std::string claim = run.path() + "/.result.claim";
  const int fd = ::open(claim.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (fd < 0) return own_code;
  ::close(fd);
  PoolEnding ending;
  ending.wall_s = wall_s;
  ending.signal = stop_signal();
  const int code = finish_pool(run, config, ending);
  ::unlink(claim.c_str());
  return code;
}

int train(LivePeer& peer, const RunDir& run, PeerId self, const std::vector<Endpoint>& addresses,
          ServedPeer& metrics) {
  const RunConfig& config = peer.config();
  const auto begin = std::chrono::steady_clock::now();
  metrics.begin(config, run.name(), gossip::peer_name(self));
  LivePeer::Outside outside = outside_of(config, self);
  outside.status = [&metrics, say_progress = std::move(outside.status)](const PeerStatus& status) {
    metrics.update(status);
    say_progress(status);
  };
  const PeerResult result =
      peer.run(run, addresses, header_event(run, config, kFacts, self), version_number(), outside);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  if (!result.alive) std::cerr << "hearsay: " << result.name << ": " << result.reason << "\n";
  const int own = stop_signal() != 0
                      ? 128 + stop_signal()
                      : static_cast<int>(result.alive ? ExitCode::ok : ExitCode::check_failed);
  return write_result_if_last(run, config, self, wall.count(), own);
}

// What only a watcher can do.
void refuse_watched_options(const RunConfig& config) {
  const char* const option = !config.chaos.empty() ? "--chaos"
                             : config.target       ? "--target"
                                                   : nullptr;
  if (option == nullptr) return;
  throw UsageError(std::string(option) +
                   ": nobody watches a pool that is started by hand; use hearsay launch -n N");
}

int first_peer(RunConfig config, const Settings& settings) {
  refuse_watched_options(config);
  // A preset's pool is one to simulate or launch; by hand every peer takes a person.
  const std::string origin = settings.origin("peers");
  if (origin == "default" || origin.starts_with("preset ")) config.peers = 1;
  if (config.min_peers > config.peers)
    throw UsageError("--min-peers " + std::to_string(config.min_peers) + ": the pool has only " +
                     std::to_string(config.peers));
  const Endpoint listen = parse_endpoint("--listen", config.listen);
  refuse_open_address(config, listen);
  ServedPeer metrics(config);
  LivePeer peer(config, PeerId(0), PeerSocket(listen));
  RunFacts facts = kFacts;
  facts.data_digest = peer.work().data_digest();
  facts.parameters = peer.work().layout().size();
  Settings effective = settings;
  effective.set("peers", {std::to_string(config.peers)}, settings.origin("peers"));
  const RunDir run = begin_run(effective, config, facts);
  const std::string address = peer.listening().text();
  say(config, "p00 of " + std::to_string(config.peers) + "  " + address + "  ->  " + run.path());
  std::vector<Endpoint> addresses{peer.listening()};
  if (config.peers > 1) say(config, "join with  hearsay train --join " + address);
  Patience patience(config);
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
  return train(peer, run, PeerId(0), addresses, metrics);
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
  Patience patience(own);
  const auto tick = [&](const std::string& why) {
    return patience.tick("joining " + first.text() + ": " + why);
  };
  auto client = JoinClient::dial(first, tick);
  if (!client) return 128 + stop_signal();
  Endpoint listen = parse_endpoint("--listen", own.listen);
  if (settings.origin("listen") == "default") listen.host = client->local_host();
  refuse_open_address(own, listen);
  // The port is taken before the place in the pool is known, and kept.
  PeerSocket socket(listen);
  const auto answer =
      client->ask(Json{{"address", socket.transport->listening().text()}}.dump(), tick);
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
               peer.listening().text() + "  ->  " + run.path());
  return train(peer, run, self, addresses, metrics);
}

}  // namespace

int train_by_hand(RunConfig config, const Settings& settings) {
  catch_stop_signals();
  catch_checkpoint_signal();
  return config.join ? join_pool(config, settings) : first_peer(std::move(config), settings);
}

}  // namespace hearsay::runtime
