// SPDX-License-Identifier: Apache-2.0
#include "runtime/replay/run_replay.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <exception>
#include <filesystem>
#include <numeric>
#include <thread>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;

// The number in "inputs.12.bin" or "events.3.jsonl".
std::optional<std::uint64_t> number_in(const std::string& name, std::string_view before,
                                       std::string_view after) {
  if (!name.starts_with(before) || !name.ends_with(after) ||
      name.size() <= before.size() + after.size())
    return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = name.data() + name.size() - after.size();
  const auto [stop, error] = std::from_chars(name.data() + before.size(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

using Numbered = std::map<std::uint64_t, std::string>;

Numbered files_of(const std::string& folder, std::string_view before, std::string_view after) {
  Numbered found;
  std::error_code none;
  for (const auto& file : fs::directory_iterator(folder, none)) {
    if (const auto number = number_in(file.path().filename(), before, after))
      found.emplace(*number, file.path());
  }
  return found;
}

RecordedPeer find_peer(const RunDir& run, const std::string& name,
                       std::vector<std::string>& damage) {
  RecordedPeer peer;
  peer.name = name;
  for (const auto& [incarnation, path] : files_of(run.peer_dir(name), "inputs.", ".bin")) {
    try {
      const JournalReader reader(path);
      peer.sessions.push_back({JournalHead::from_json(path, reader.head()), path});
    } catch (const kernels::Fault& fault) {
      damage.emplace_back(fault.what());
    }
  }
  for (const auto& [number, path] : files_of(run.peer_dir(name), "events.", ".jsonl"))
    peer.logs.push_back(path);
  peer.logs.push_back(run.peer_events(name));
  return peer;
}

// What somebody got, so that it is kept once it is made.
void expect_frames(const RecordedRun& recorded, FrameStore& store) {
  for (const RecordedPeer& peer : recorded.peers) {
    for (const RecordedSession& session : peer.sessions) {
      JournalReader reader(session.path);
      while (const auto entry = reader.next()) {
        const auto* turn = std::get_if<journal::Turn>(&*entry);
        if (turn == nullptr || !turn->has_values) continue;
        store.expect(key_of(std::get<gossip::input::FrameIn>(turn->input).frame));
      }
    }
  }
}

std::uint64_t sum(const std::vector<PeerReplayResult>& peers, std::uint64_t PeerReplayResult::*of) {
  return std::accumulate(peers.begin(), peers.end(), std::uint64_t{0},
                         [&](std::uint64_t so_far, const auto& peer) { return so_far + peer.*of; });
}

}  // namespace

std::uint64_t RunReplay::merges() const { return sum(peers, &PeerReplayResult::merges); }
std::uint64_t RunReplay::digests() const { return sum(peers, &PeerReplayResult::digests); }

bool RunReplay::is_equal() const {
  return std::all_of(peers.begin(), peers.end(),
                     [](const auto& peer) { return peer.differences.empty(); });
}

bool RunReplay::is_complete() const {
  return damage.empty() && std::all_of(peers.begin(), peers.end(), [](const auto& peer) {
           return peer.complete && peer.damage.empty();
         });
}

RecordedRun find_recording(const RunDir& run, std::uint32_t peers) {
  RecordedRun found;
  bool any = false;
  for (std::uint32_t i = 0; i < peers; ++i) {
    found.peers.push_back(find_peer(run, gossip::peer_name(kernels::PeerId(i)), found.damage));
    any |= !found.peers.back().sessions.empty();
    if (found.peers.back().sessions.empty())
      found.damage.push_back(found.peers.back().name + " has left no journal");
  }
  if (!any) {
    throw kernels::UsageError("replay: the run in " + run.path() +
                              " has no journals (peers/*/inputs.*.bin); only live pools of "
                              "this hearsay leave them");
  }
  return found;
}

RunReplay replay_run(const RecordedRun& recorded, const RunConfig& config, const ReplayPlan& plan,
                     std::size_t threads,
                     const std::function<void(const PeerReplayResult&)>& progress) {
  const auto begun = std::chrono::steady_clock::now();
  RunReplay all;
  all.damage = recorded.damage;
  all.peers.resize(recorded.peers.size());
  Turnstile turnstile(threads);
  FrameStore store(recorded.peers.size(), turnstile);
  expect_frames(recorded, store);
  std::atomic<bool> stopped = false;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto play = [&](std::uint32_t i) {
    turnstile.enter();
    try {
      const RecordedPeer& peer = recorded.peers[i];
      PeerReplay replay(config, kernels::PeerId(i), peer.sessions, peer.logs, plan, store);
      all.peers[i] = replay.run(stopped);
      if (plan.until && plan.until->peer == i) {
        stopped = true;
        store.stop();
      }
      const std::lock_guard lock(mutex);
      if (progress) progress(all.peers[i]);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      stopped = true;
      store.stop();
    }
    store.end(i);
    turnstile.leave();
  };
  std::vector<std::thread> workers;
  for (std::uint32_t i = 0; i < recorded.peers.size(); ++i) workers.emplace_back(play, i);
  for (std::thread& worker : workers) worker.join();
  if (failure) std::rethrow_exception(failure);
  all.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return all;
}

}  // namespace hearsay::runtime
