// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/run_folder.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
#include "runtime/log/json_nesting.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr auto kLook = 200ms;
constexpr auto kWaitForResult = 10s;  // from the end of the last peer

// Null when it is not there, or not whole.
Json read_json(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  if (nests_too_deeply(text)) return Json();
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? std::move(json) : Json();
}

// `runs/latest` is what it points to now, so that the next run does not change what is shown.
std::string resolved(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::is_symlink(path, error)
                            ? fs::path(path).parent_path() / fs::read_symlink(path, error)
                            : fs::path(path);
  return error ? path : real.string();
}

std::string own_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

bool is_gone(int pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

std::string word(const Json& j, const char* key) {
  const auto found = j.find(key);
  return found != j.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t whole(const Json& j, const char* key) {
  const auto found = j.find(key);
  return found != j.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

void take_result(const Json& j, PeerStatus& status) {
  status.samples = whole(j, "samples");
  status.merges = whole(j, "merges");
  status.merges_applied = whole(j, "merges_applied");
  status.merges_refused = whole(j, "merges_refused");
  status.merges_skipped = whole(j, "merges_skipped");
  status.payload_bytes = whole(j, "payload_bytes");
  status.wire_bytes = whole(j, "wire_bytes");
  if (const auto acc = j.find("test_acc"); acc != j.end() && acc->is_number())
    status.accuracy = acc->get<double>();
  if (const auto loss = j.find("test_loss"); loss != j.end() && loss->is_number())
    status.test_loss = loss->get<double>();
}

}  // namespace

RunFolder::RunFolder(const std::string& path, WatchedPool& pool)
    : run_(RunDir::open(resolved(path))),
      pool_(pool),
      track_(std::in_place, pool),
      host_(own_host()) {
  const bool is_run = fs::exists(run_.run_json()) || fs::exists(run_.events_jsonl()) ||
                      fs::is_directory(run_.path() + "/peers");
  if (!is_run)
    throw kernels::UsageError(run_.path() +
                              " is no run: it holds no run.json, events.jsonl or peers/; try "
                              "runs/latest");
  pool_.snapshot.run = run_.name();
  read_run_json();
}

void RunFolder::read_run_json() {
  const Json j = read_json(run_.run_json());
  is_simulation_ =
      j.is_object() ? word(j, "clock") == "virtual" : !fs::is_directory(run_.path() + "/peers");
  if (!j.is_object() || !j.contains("config")) return;
  for (const auto& [key, entry] : j["config"].items()) {
    if (!entry.is_object() || !entry.contains("value") || !entry["value"].is_string()) continue;
    const double value = std::strtod(entry["value"].get<std::string>().c_str(), nullptr);
    if (key == "epochs") track_->set_epochs(value);
    if (key == "min-peers" && value >= 0.0 && value < 4294967296.0)
      pool_.snapshot.min_peers = static_cast<std::uint32_t>(value);
  }
}

bool RunFolder::look() {
  const std::map<std::string, int> running = track_->running_on(host_);
  const bool has_more = read_logs();
  pool_.trouble = pool_.snapshot.peers.empty() ? "no log yet in " + run_.path() : "";
  pool_.is_waiting = true;
  if (has_more) return true;
  if (const std::size_t lines = track_->unreadable_lines(); lines > 0) {
    pool_.trouble = std::to_string(lines) + " lines of the logs cannot be read";
    pool_.is_waiting = false;
  }
  end_the_vanished(running);
  read_result();
  return false;
}

bool RunFolder::read_logs() {
  if (is_simulation_) {
    logs_.try_emplace("", run_.events_jsonl());
  } else {
    std::error_code error;  // no folder yet: no peers yet
    for (const auto& entry : fs::directory_iterator(run_.path() + "/peers", error)) {
      const std::string peer = entry.path().filename().string();
      logs_.try_emplace(peer, run_.peer_events(peer));
    }
  }
  // In turns, as a log of hours takes longer than a viewer wants to wait.
  const auto until = std::chrono::steady_clock::now() + kLook;
  bool has_more = true;
  while (has_more) {
    has_more = false;
    for (auto& [peer, log] : logs_) has_more = read_log(peer, log) || has_more;
    if (std::chrono::steady_clock::now() > until) break;
  }
  return has_more;
}

bool RunFolder::read_log(const std::string& peer, LogTail& log) {
  const auto begins_anew = [this, &peer] {
    if (peer.empty()) {
      forget_all();
    } else {
      track_->begin_anew(peer);
    }
  };
  return log.read({begins_anew, [this](std::string_view line) { track_->take(line); }});
}

void RunFolder::forget_all() {
  const std::string name = pool_.snapshot.run;
  pool_ = WatchedPool();
  pool_.snapshot.run = name;
  track_.emplace(pool_);
  read_run_json();
}

// Of those that ran before the logs were read, so that a goodbye has been seen.
void RunFolder::end_the_vanished(const std::map<std::string, int>& before) {
  const auto still = track_->running_on(host_);
  for (const auto& [peer, pid] : before) {
    const auto same = still.find(peer);
    if (same != still.end() && same->second == pid && is_gone(pid))
      track_->end_peer(peer, false, "its process is gone");
  }
}

std::optional<RunFolder::FileTime> RunFolder::newest_log() const {
  std::optional<FileTime> newest;
  for (const auto& [peer, log] : logs_) {
    std::error_code error;
    const FileTime time = fs::last_write_time(log.path(), error);
    if (!error && (!newest || time > *newest)) newest = time;
  }
  return newest;
}

// A result is older than the logs when the run has been taken up again.
void RunFolder::read_result() {
  std::error_code error;
  const FileTime time = fs::last_write_time(run_.result_json(), error);
  const auto log = newest_log();
  const auto& peers = pool_.snapshot.peers;
  const bool nobody_runs =
      !peers.empty() && std::all_of(peers.begin(), peers.end(), [](const PeerView& view) {
        return view.status.state == PeerStatus::State::ended ||
               view.status.state == PeerStatus::State::lost;
      });
  if (error || (log && time < *log)) {
    const auto now = std::chrono::steady_clock::now();
    if (!is_simulation_) pool_.verdict.clear();
    if (!nobody_runs) nobody_since_.reset();
    if (nobody_runs && !nobody_since_) nobody_since_ = now;
    if (nobody_since_ && now - *nobody_since_ > kWaitForResult) pool_.verdict = "no result";
    return;
  }
  if (result_read_ == time) return;
  const Json result = read_json(run_.result_json());
  if (!result.is_object()) return;
  result_read_ = time;
  const auto per_peer = result.find("per_peer");
  if (per_peer != result.end() && per_peer->is_array()) {
    for (const Json& each : *per_peer) {
      if (!each.is_object()) continue;
      const std::string peer = word(each, "peer");
      const auto alive = each.find("alive");
      track_->end_peer(peer, alive != each.end() && *alive == true, word(each, "reason"));
      for (PeerView& view : pool_.snapshot.peers) {
        if (view.name == peer) take_result(each, view.status);
      }
    }
  }
  pool_.verdict = result.contains("verdict") ? word(result, "verdict") : "ended";
}

}  // namespace hearsay::runtime
