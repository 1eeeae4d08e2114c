// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/unwatched.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <thread>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/app/pool_end.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/version.hpp"
#include "runtime/launch/endpoint_file.hpp"
#include "runtime/net/answers.hpp"

namespace hearsay::runtime {
namespace {

using kernels::ExitCode;
using kernels::PeerId;
using kernels::UsageError;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kSayWaiting = 60s;
constexpr auto kProgressInterval = 10s;
// For another peer's result, after the own end: while its process is there, or may be.
constexpr auto kWaitForTheLiving = 20s, kWaitForTheUnseen = 5s;

LivePeer::Outside outside_of(const RunConfig& config, PeerId self) {
  LivePeer::Outside outside;
  outside.poll = [&config, start = std::chrono::steady_clock::now()](LiveOrders& orders) {
    const std::chrono::duration<double> ran = std::chrono::steady_clock::now() - start;
    if (config.time_s && ran.count() >= *config.time_s) orders.stop = "time";
    // The others go on, so not "interrupted": that is said of whole pools.
    if (stop_signal() != 0) {
      orders.stop = "told to leave";
      orders.leaves = true;
    }
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

// Whether others without a result are waited for. What a peer of another host does can be seen by
// its address only, which it gives up before it has written its result.
enum class Missing { gone, unseen, living };

Missing look_at(const RunDir& run, const std::string& name) {
  const auto endpoint = read_endpoint(run, name);
  if (!endpoint) return Missing::gone;  // never came
  if (endpoint->host == host_name())
    return ::kill(endpoint->pid, 0) == 0 || errno == EPERM ? Missing::living : Missing::gone;
  return answers(endpoint->address) ? Missing::living : Missing::unseen;
}

// Waits for those who may still write a result, and says whether this peer is the last one.
class LastOne {
 public:
  LastOne(const RunDir& run, const RunConfig& config, PeerId self)
      : run_(run), config_(config), self_(self) {}
  bool wait() {
    const bool alone = stop_signal() != 0;  // told to go: the others go on
    for (const auto begin = Clock::now();;) {
      if (fs::exists(run_.result_json())) return false;
      if (is_settled(Clock::now() - begin)) return true;
      if (alone || others_train_) return false;
      std::this_thread::sleep_for(100ms);
    }
  }

 private:
  bool is_settled(Clock::duration waited) {
    for (std::uint32_t i = 0; i < config_.peers; ++i) {
      const std::string name = gossip::peer_name(PeerId(i));
      if (PeerId(i) == self_ || fs::exists(run_.peer_result(name))) continue;
      const Missing missing = look_at(run_, name);
      if (missing == Missing::gone) continue;
      // Staggered, so that one of several is first.
      if (missing == Missing::unseen && waited > kWaitForTheUnseen + self_.value * 1s) continue;
      std::error_code ignored;
      const auto size = fs::file_size(run_.peer_events(name), ignored);
      const auto before = log_bytes_.emplace(i, size).first->second;
      if (missing == Missing::living && waited > kWaitForTheLiving) {
        if (size == before) continue;  // frozen
        others_train_ = true;          // and one of them will be the last
      }
      return false;
    }
    return true;
  }

  const RunDir& run_;
  const RunConfig& config_;
  PeerId self_;
  std::map<std::uint32_t, std::uintmax_t> log_bytes_;  // when the waiting began
  bool others_train_ = false;
};

int write_result_if_last(const RunDir& run, const RunConfig& config, PeerId self, double wall_s,
                         int own_code) {
  if (!LastOne(run, config, self).wait()) return own_code;
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

}  // namespace

void say(const RunConfig& config, const std::string& line) {
  if (!config.quiet) std::cerr << line << std::endl;
}

bool WaitingWords::tick(const std::string& line) {
  const auto now = Clock::now();
  if (now - said_ >= kSayWaiting || line != last_) {
    say(config_, line);
    said_ = now;
    last_ = line;
  }
  return stop_signal() == 0;
}

void refuse_watched_options(const RunConfig& config, const std::string& instead) {
  const char* const option = !config.chaos.empty()  ? "--chaos"
                             : config.target        ? "--target"
                             : config.restarts != 0 ? "--restarts"
                                                    : nullptr;
  if (option != nullptr) throw UsageError(std::string(option) + ": " + instead);
}

int train_unwatched(LivePeer& peer, const RunDir& run, PeerId self, const PeerPlace& place,
                    const RunFacts& facts, ServedPeer& metrics) {
  const RunConfig& config = peer.config();
  metrics.begin(config, run.name(), gossip::peer_name(self));
  LivePeer::Outside outside = outside_of(config, self);
  outside.status = [&metrics, say_progress = std::move(outside.status)](const PeerStatus& status) {
    metrics.update(status);
    say_progress(status);
  };
  RunFacts here = facts;
  here.device = peer.device();
  const auto begin = Clock::now();
  const PeerResult result =
      peer.run(run, place, header_event(run, config, here, self), version_number(), outside);
  const std::chrono::duration<double> wall = Clock::now() - begin;
  if (peer.displaced()) return static_cast<int>(ExitCode::usage);
  if (!result.alive) std::cerr << "hearsay: " << result.name << ": " << result.reason << "\n";
  const int own = stop_signal() != 0
                      ? 128 + stop_signal()
                      : static_cast<int>(result.alive ? ExitCode::ok : ExitCode::check_failed);
  return write_result_if_last(run, config, self, wall.count(), own);
}

}  // namespace hearsay::runtime
