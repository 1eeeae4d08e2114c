// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/join_pool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "gossip/event.hpp"
#include "gossip/limits.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/unwatched.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/host/examples_log.hpp"
#include "runtime/launch/endpoint_file.hpp"
#include "runtime/log/posix_file.hpp"
#include "runtime/metrics/served_display.hpp"
#include "runtime/net/join.hpp"

namespace hearsay::runtime {
namespace {

using kernels::PeerId;
using kernels::UsageError;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto kFirstWait = 500ms;
constexpr int kTriesForName = 3;  // members learn meanwhile who had the place
constexpr std::chrono::milliseconds kMostWait = gossip::limits::kRedialMost;

void refuse_pool_options(const Settings& settings) {
  constexpr std::string_view kOwn[] = {"join", "listen",  "insecure", "secret",
                                       "tls",  "revoked", "announce", "name",
                                       "json", "quiet",   "run",      "metrics"};
  for (const Option& option : option_table()) {
    const bool own = std::find(std::begin(kOwn), std::end(kOwn), option.name) != std::end(kOwn);
    if (!own && settings.origin(option.name) == "flag") {
      throw UsageError("--" + std::string(option.name) +
                       ": comes from the first peer when joining; leave it out");
    }
  }
}

// The run directory of the first peer, when this machine sees it; else one of the same name here.
RunDir run_dir_of(const RunConfig& own, const std::string& path) {
  if (own.run_dir.empty() && fs::is_directory(path)) return RunDir::open(path);
  const std::string here =
      own.run_dir.empty() ? "runs/" + path.substr(path.find_last_of('/') + 1) : own.run_dir;
  return fs::is_directory(here + "/peers") ? RunDir::open(here) : RunDir::create(here);
}

// Two members may have promised one place to two processes. Where both see the run directory, the
// one that makes this file first has it. A process of this host that has died since, perhaps before
// any member has heard of it, makes this one a start later. False when somebody else has the place.
bool claim_place(const RunDir& run, PeerId place, std::uint64_t& incarnation) {
  const std::string folder = run.prepare_peer_dir(gossip::peer_name(place));
  for (;; ++incarnation) {
    const std::string path = folder + "/.start-" + std::to_string(incarnation);
    const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (fd >= 0) {
      const std::string who = std::to_string(::getpid()) + " " + host_name() + "\n";
      [[maybe_unused]] const ssize_t written = ::write(fd, who.data(), who.size());
      ::close(fd);
      return true;
    }
    if (errno != EEXIST)
      throw UsageError(path + ": " + error_text(errno) + "; choose another --run");
    std::ifstream file(path);
    int pid = 0;
    std::string host;
    const bool is_near = (file >> pid >> host) && host == host_name();
    if (!is_near || (pid != ::getpid() && ::kill(pid, 0) == 0)) return false;
  }
}

// Asks one member after the other, with growing pauses.
class Joining {
 public:
  Joining(const RunConfig& own, const Settings& settings)
      : own_(own),
        settings_(settings),
        security_(security_of(own)),
        seeds_{parse_endpoint("--join", *own.join)} {
    std::random_device device;
    request_.nonce = (std::uint64_t{device()} << 32 | device()) | 1;
    if (!own.name.empty()) request_.place = place_of_name(own.name, 0);
  }
  // A place; empty when a signal ended the asking. Throws UsageError when asking will not help.
  std::optional<JoinAnswer> ask();
  PeerSocket take_socket() { return std::move(*std::exchange(socket_, std::nullopt)); }
  void found_taken(PeerId place) { request_.not_free.push_back(place); }

 private:
  std::optional<JoinAnswer> ask(const Endpoint& member);
  void listen_as(const std::string& local_host);
  void complain(const Endpoint& member, const std::string& why);
  bool pause();

  const RunConfig& own_;
  const Settings& settings_;
  std::shared_ptr<Security> security_;
  std::vector<Endpoint> seeds_;  // --join first, then whom members have named
  JoinRequest request_;
  std::optional<PeerSocket> socket_;
  std::string bound_to_;
  std::map<std::string, std::string> said_;  // [member] what was wrong with it last
  std::chrono::milliseconds wait_ = kFirstWait;
};

void Joining::complain(const Endpoint& member, const std::string& why) {
  std::string& last = said_[member.text()];
  if (std::exchange(last, why) != why) say(own_, "joining " + member.text() + ": " + why);
}

// The port is taken before the place in the pool is known, and kept.
void Joining::listen_as(const std::string& local_host) {
  Endpoint listen = parse_endpoint("--listen", own_.listen);
  if (settings_.origin("listen") == "default") listen.host = local_host;
  if (socket_ && bound_to_ == listen.host) return;
  socket_.reset();
  socket_.emplace(own_, listen, security_);
  bound_to_ = listen.host;
  request_.address = socket_->transport->announced();
}

std::optional<JoinAnswer> Joining::ask(const Endpoint& member) {
  const auto tick = [] { return stop_signal() == 0; };
  JoinClient client(member, tick, security_);
  if (client.is_unproven()) throw UsageError("--join: " + client.fault());
  if (!client.fault().empty()) {
    complain(member, client.fault() + "; trying again");
    return std::nullopt;
  }
  listen_as(client.local_host());
  auto reply =
      client.ask(request_, tick, [&](const std::string& waiting) { complain(member, waiting); });
  using What = JoinClient::Reply::What;
  for (const BookEntry& entry : reply.answer.book) {
    if (std::find(seeds_.begin(), seeds_.end(), entry.address) == seeds_.end())
      seeds_.push_back(entry.address);
  }
  switch (reply.what) {
    case What::place: return std::move(reply.answer);
    case What::refused: throw UsageError("--join: refused by " + member.text() + ": " + reply.text);
    case What::foreign:
      throw UsageError("--join: no hearsay peer at " + member.text() + ": " + reply.text);
    case What::busy:
    case What::lost: complain(member, reply.text + "; trying again"); break;
    case What::given_up: break;
  }
  return std::nullopt;
}

bool Joining::pause() {
  for (auto slept = 0ms; slept < wait_ && stop_signal() == 0; slept += 50ms)
    std::this_thread::sleep_for(50ms);
  wait_ = std::min(2 * wait_, kMostWait);
  return stop_signal() == 0;
}

std::optional<JoinAnswer> Joining::ask() {
  wait_ = kFirstWait;
  do {
    for (std::size_t i = 0; i < seeds_.size() && stop_signal() == 0; ++i) {
      if (auto answer = ask(Endpoint(seeds_[i]))) return answer;
    }
  } while (pause());
  return std::nullopt;
}

RunConfig config_of_pool(const RunConfig& own, Settings& settings, const JoinAnswer& answer) {
  const std::string text = "{\"config\":" + answer.pool.config + "}";
  for (const auto& [name, values] : parse_config_text(text, "the first peer"))
    settings.set(name, values, "first peer");
  RunConfig config = typed_config(settings);
  config.quiet = own.quiet;
  config.json = own.json;
  return config;
}

PeerPlace place_in_pool(const JoinAnswer& answer, const Settings& pool, std::uint32_t peers) {
  PeerPlace place;
  place.incarnation = answer.incarnation;
  place.late = answer.late;
  for (const BookEntry& entry : answer.book) {
    if (entry.peer.value < peers) place.book.push_back(entry);
  }
  if (answer.present.size() < peers) {
    place.at_start.assign(peers, false);
    for (const PeerId id : answer.present) {
      if (id.value < peers) place.at_start[id.value] = true;
    }
  }
  place.pool = answer.pool.run.substr(answer.pool.run.find_last_of('/') + 1);
  place.admission.config = config_json(pool).dump();
  place.admission.run = answer.pool.run;
  return place;
}

}  // namespace

RunFacts by_hand_facts() { return {"train", "by hand", "monotonic", {}, {}, {}}; }

PeerId place_of_name(const std::string& name, std::uint32_t peers) {
  std::uint32_t id = 0;
  const char* const end = name.data() + name.size();
  const bool begins_well = name.size() >= 2 && name[0] == 'p';
  const auto [rest, error] = begins_well
                                 ? std::from_chars(name.data() + 1, end, id)
                                 : std::from_chars_result{name.data(), std::errc::invalid_argument};
  if (error != std::errc() || rest != end || gossip::peer_name(PeerId(id)) != name)
    throw UsageError("--name: '" + name + "': a place in the pool is p00, p01, ...");
  if (peers != 0 && id >= peers) {
    throw UsageError("--name: there is no " + name + " in a pool of " + std::to_string(peers) +
                     " peers; --peers sets the number");
  }
  return PeerId(id);
}

int join_pool(const RunConfig& own, const Settings& settings) {
  refuse_pool_options(settings);
  ServedPeer metrics(own);
  Joining joining(own, settings);
  for (int tries = 1;; ++tries) {
    auto answer = joining.ask();
    if (!answer) return 128 + stop_signal();
    const RunDir run = run_dir_of(own, answer->pool.run);
    const std::string name = gossip::peer_name(answer->peer);
    Settings pool = settings;
    const RunConfig config = config_of_pool(own, pool, *answer);
    refuse_unknown_examples(config, run, name, answer->incarnation);
    if (!claim_place(run, answer->peer, answer->incarnation)) {
      if (!own.name.empty())
        throw UsageError("--name: " + name + " is being taken by another process");
      joining.found_taken(answer->peer);
      continue;
    }
    LivePeer peer(config, answer->peer, joining.take_socket());
    say(own, name + " of " + std::to_string(config.peers) + "  " + peer.announced().text() +
                 (answer->late ? "  late" : "") + "  ->  " + run.path());
    const PeerPlace place = place_in_pool(*answer, pool, config.peers);
    const int code = train_unwatched(peer, run, answer->peer, place, by_hand_facts(), metrics);
    if (!peer.displaced()) return code;
    if (!own.name.empty() && tries == kTriesForName)
      throw UsageError("--name: " + name + ": " + *peer.displaced() + "; take another place");
    say(own, name + ": " + *peer.displaced() + "; joining again");
  }
}

}  // namespace hearsay::runtime
