// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/pool_track.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gossip/event.hpp"
#include "runtime/app/pool_numbers.hpp"
#include "runtime/host/status_notes.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;
using State = PeerStatus::State;

// Peers of one run start within this; clocks that began later belong to a peer that came later.
constexpr double kTogether_s = 5.0;
// Clocks of live peers differ a little, so a last word may seem to come after the loss was noticed.
constexpr double kLastWords_s = 1.0;
constexpr std::uint64_t kMostPid = std::numeric_limits<int>::max();

double number(const Json& line, const char* key, double otherwise = 0.0) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::uint64_t count(const Json& line, const char* key) {
  const double value = number(line, key);
  return value > 0.0 && value < 1e18 ? static_cast<std::uint64_t>(value) : 0;
}

std::string text(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// "2026-01-02T10:15:00Z" as seconds; 0 for anything else.
double wall_clock(const std::string& utc) {
  std::tm parts{};
  const char* const end = ::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return end != nullptr && *end == '\0' ? static_cast<double>(::timegm(&parts)) : 0.0;
}

bool comes_before(const PeerView& view, const std::string& name) {  // p99, then p100
  return std::pair(view.name.size(), std::string_view(view.name)) <
         std::pair(name.size(), std::string_view(name));
}

bool is_over(const PeerView& view) {
  return view.status.state == State::ended || view.status.state == State::lost;
}

}  // namespace

void PoolTrack::take(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) {
    ++unreadable_;
    return;
  }
  const std::string ev = text(json, "ev");
  if (ev == "run.started") return take_header(json);
  if (ev == "run.finished") {
    pool_.verdict = text(json, "verdict");
    return;
  }
  const std::string peer = text(json, "peer");
  if (peer.empty()) return;
  At at = find(peer);
  if (at.view == nullptr) return;
  at.track->newest_s = std::max(at.track->newest_s, 1e-9 * number(json, "t_ns"));
  at.now_s = at.track->newest_s + clock_offset_s(*at.track);
  at.view->status.clock_s = at.track->newest_s;
  pool_.snapshot.now.wall_s = std::max(pool_.snapshot.now.wall_s, at.now_s);
  const double slack_s = pool_.has_virtual_clock ? 0.0 : kLastWords_s;
  if (at.track->lost_at_s >= 0.0 && at.now_s > at.track->lost_at_s + slack_s) alive_again(at);
  take_event(ev, json, at);
}

void PoolTrack::take_header(const Json& line) {
  pool_.snapshot.run = text(line, "run");
  pool_.has_virtual_clock = text(line, "clock") == "virtual";
  const auto peers = std::min<std::uint64_t>(count(line, "peers"), kMostPeers);
  for (std::uint32_t i = 0; i < peers; ++i) find(gossip::peer_name(gossip::PeerId(i)));
  const At self = find(text(line, "self"));
  if (self.view != nullptr) {
    self.track->started_s = wall_clock(text(line, "time"));
    self.track->newest_s = 0.0;
    self.track->host = text(line, "host");
    const std::uint64_t pid = count(line, "pid");
    self.view->pid = pid <= kMostPid ? static_cast<int>(pid) : 0;
  }
  first_start_s_ = 0.0;
  for (const auto& [name, track] : tracks_) {
    if (track.started_s > 0.0 && (first_start_s_ == 0.0 || track.started_s < first_start_s_))
      first_start_s_ = track.started_s;
  }
  count_live();
}

void PoolTrack::take_event(std::string_view ev, const Json& line, const At& at) {
  PeerStatus& status = at.view->status;
  if (ev == "block.finished") {
    block_finished(line, at);
  } else if (ev == "merge.decided") {
    merge_decided(line, at);
  } else if (ev == "merge.applied") {
    status.merges_applied = count(line, "mseq");
    note_merge({text(line, "from"), status.alpha, at.track->newest_s}, status);
    pool_.merges.add({at.view->name, text(line, "from"), status.alpha, at.now_s});
  } else if (ev == "eval.finished") {
    status.accuracy = number(line, "acc", status.accuracy);
    status.test_loss = number(line, "loss", status.test_loss);
    status.evaluated_s = at.track->newest_s;
    status.evaluated_epochs = status.epochs;
  } else if (ev == "partner.chosen") {
    ++status.merges;
  } else if (ev == "delta.sent") {
    status.payload_bytes += count(line, "bytes");
    status.wire_bytes += count(line, "wire_bytes");
  } else if (ev == "delta.received") {
    status.payload_bytes_received += count(line, "bytes");
  } else if (ev == "peer.joined") {
    joined(line, at);
  } else if (ev == "peer.left") {
    left(text(line, "reason"), at);
  } else if (ev == "peer.lost") {
    lost(line, at);
  } else if (ev == "fault.seen") {
    const std::string& peer = at.view->name;
    const std::string who = text(line, "who"), about = who == peer ? "" : " of " + who;
    pool_.add_change(at.now_s, peer + ": " + text(line, "kind") + about + " (" +
                                   text(line, "detail") + "); " + text(line, "action"));
  }
}

void PoolTrack::joined(const Json& line, const At& at) {
  if (at.track->has_joined)
    pool_.add_change(at.now_s, at.view->name + " is back (start " +
                                   std::to_string(count(line, "inc") + 1) + ")");
  at.track->has_joined = true;
  at.track->lost_at_s = -1.0;
  at.track->steps = count(line, "step");
  at.track->budget_steps = count(line, "steps");
  at.view->ended.clear();
  at.view->status.state = State::training;
  count_live();
}

void PoolTrack::block_finished(const Json& line, const At& at) {
  PeerStatus& status = at.view->status;
  const std::uint64_t before = status.samples, steps = count(line, "steps");
  status.samples = count(line, "samples");
  status.loss = number(line, "loss", status.loss);
  const double block_s = 1e-9 * number(line, "step_ns") * static_cast<double>(steps);
  if (block_s > 0.0 && status.samples > before)
    status.samples_per_s = static_cast<double>(status.samples - before) / block_s;
  at.track->steps += steps;
  if (at.track->budget_steps > 0) {
    status.progress = std::min(
        1.0, static_cast<double>(at.track->steps) / static_cast<double>(at.track->budget_steps));
    status.epochs = status.progress * epochs_;
    if (status.progress >= 1.0 && !is_over(*at.view)) status.state = State::lingering;
  }
  if (has_trained(status)) at.losses->add(status.progress, status.loss);
}

void PoolTrack::merge_decided(const Json& line, const At& at) {
  PeerStatus& status = at.view->status;
  status.alpha = number(line, "alpha");
  if (text(line, "verdict") == "refuse") ++status.merges_refused;
  if (line.contains("age_samples"))
    note_decision(number(line, "age_samples"), number(line, "rel_norm"), status);
}

void PoolTrack::left(const std::string& reason, const At& at) {
  at.view->ended = reason;
  at.view->status.state = reason == "diverged" ? State::lost : State::ended;
  at.track->lost_at_s = -1.0;
  if (reason != "finished") pool_.add_change(at.now_s, at.view->name + " left: " + reason);
  count_live();
}

// Believed, until the peer's own log says otherwise.
void PoolTrack::lost(const Json& line, const At& noticed_by) {
  const std::string who = text(line, "who"), reason = text(line, "reason");
  const std::string noticer = noticed_by.view->name;
  const At at = find(who);  // a new peer would move the views
  if (at.view == nullptr || is_over(*at.view)) return;
  const double slack_s = pool_.has_virtual_clock ? 0.0 : kLastWords_s;
  const double last_s = at.track->newest_s + clock_offset_s(*at.track);
  if (last_s > noticed_by.now_s + slack_s) return;
  at.track->lost_at_s = noticed_by.now_s;
  at.view->status.state = State::lost;
  at.view->ended = reason;
  pool_.add_change(noticed_by.now_s, who + " lost (" + reason + ", noticed by " + noticer + ")");
  count_live();
}

void PoolTrack::alive_again(const At& at) {
  at.track->lost_at_s = -1.0;
  if (at.view->status.state != State::lost) return;
  at.view->status.state = State::training;
  at.view->ended.clear();
  pool_.add_change(at.now_s, at.view->name + " is back");
  count_live();
}

void PoolTrack::end_peer(const std::string& peer, bool well, const std::string& how) {
  const At at = find(peer);
  if (at.view == nullptr || (is_over(*at.view) && well)) return;
  const bool is_news = at.view->status.state != State::lost && !well;
  at.view->status.state = well ? State::ended : State::lost;
  if (at.view->ended.empty() || !well) at.view->ended = how;
  if (is_news) pool_.add_change(pool_.snapshot.now.wall_s, peer + " lost: " + how);
  count_live();
}

std::map<std::string, int> PoolTrack::running_on(const std::string& host) const {
  std::map<std::string, int> running;
  for (const PeerView& view : pool_.snapshot.peers) {
    const auto track = tracks_.find(view.name);
    if (view.pid > 0 && !is_over(view) && track != tracks_.end() && track->second.host == host)
      running.emplace(view.name, view.pid);
  }
  return running;
}

void PoolTrack::begin_anew(const std::string& peer) {
  const At at = find(peer);
  if (at.view == nullptr) return;
  const Track before = *at.track;
  *at.track = Track();
  at.track->has_joined = before.has_joined;
  at.track->started_s = before.started_s;
  at.track->host = before.host;
  at.view->status = PeerStatus();
  at.view->ended.clear();
  *at.losses = LossHistory();
}

// Makes room for a peer that is new; nothing for a name that is none, or when there are too many.
PoolTrack::At PoolTrack::find(const std::string& peer) {
  std::vector<PeerView>& views = pool_.snapshot.peers;
  if (peer.empty()) return {};
  const auto place = std::lower_bound(views.begin(), views.end(), peer, comes_before);
  const auto index = place - views.begin();
  if (place == views.end() || place->name != peer) {
    if (views.size() == kMostPeers) return {};
    PeerView fresh;
    fresh.name = peer;
    views.insert(place, std::move(fresh));
    pool_.losses.insert(pool_.losses.begin() + index, LossHistory());
  }
  const auto i = static_cast<std::size_t>(index);
  return {&views[i], &pool_.losses[i], &tracks_[peer], 0.0};
}

double PoolTrack::clock_offset_s(const Track& track) const {
  const double later_s = track.started_s - first_start_s_;
  return track.started_s > 0.0 && later_s >= kTogether_s ? later_s : 0.0;
}

void PoolTrack::count_live() {
  const auto& views = pool_.snapshot.peers;
  pool_.snapshot.now.live = static_cast<std::uint32_t>(
      std::count_if(views.begin(), views.end(),
                    [](const PeerView& view) { return view.status.state != State::lost; }));
}

}  // namespace hearsay::runtime
