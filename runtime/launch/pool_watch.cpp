// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/pool_watch.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/launch/root_cause.hpp"

namespace hearsay::runtime {
namespace {

using namespace std::chrono_literals;
using State = PeerStatus::State;

constexpr auto kTick = 50ms;
constexpr auto kShow = 250ms;
constexpr auto kSayWaiting = 5s;
constexpr auto kIdleLook = 1s;
constexpr double kIdleShare = 0.05;  // of a processor, below which a peer counts as idle
constexpr auto kEndBudget = 3s;      // from SIGTERM to SIGKILL when a start failed
constexpr auto kRestartMost = 10s;
constexpr double kTargetCheckEpochs = 0.25;

}  // namespace

PoolWatch::PoolWatch(const RunConfig& config, std::vector<std::unique_ptr<WatchedPeer>> peers,
                     PoolDisplay& display, std::function<int()> stop_signal, Patience patience)
    : config_(config),
      patience_(patience),
      display_(display),
      stop_signal_(std::move(stop_signal)),
      faults_(parse_live_faults(config), config.peers, config.seed),
      begun_(Clock::now()),
      stalled_(peers.size(), false) {
  for (auto& process : peers) {
    Watched peer;
    peer.view.name = process->name();
    peer.view.pid = process->pid();
    peer.process = std::move(process);
    peers_.push_back(std::move(peer));
  }
  if (config.target) now_.target = config.target->value;
}

void PoolWatch::poll_once() {
  std::vector<pollfd> descriptors;
  for (const Watched& peer : peers_) peer.process->add_descriptors(descriptors);
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(kTick / 1ms));
  for (Watched& peer : peers_) take_messages(peer);
}

void PoolWatch::take_messages(Watched& peer) {
  for (const control::FromPeer& message : peer.process->receive()) {
    peer.heard_at = Clock::now();
    if (const auto* ready = std::get_if<control::Ready>(&message)) {
      peer.address = ready->address;
      if (peer.waits_for_start) let_begin(peer);
    } else if (const auto* status = std::get_if<PeerStatus>(&message)) {
      peer.view.status = *status;
      const auto began = Clock::now() - std::chrono::duration_cast<Clock::duration>(
                                            std::chrono::duration<double>(status->clock_s));
      if (!trained_since_ || began < *trained_since_) trained_since_ = began;
    } else if (const auto* notice = std::get_if<control::Notice>(&message)) {
      // Several peers notice the same; the first one's words are shown.
      const std::string news = notice->text.substr(0, notice->text.find(" ("));
      if (told_.insert(news).second) display_.notice(notice->text);
    } else if (const auto* ended = std::get_if<control::Ended>(&message)) {
      peer.told_end = true;
      peer.view.ended = ended->reason;
      peer.view.status.state = ended->alive ? State::ended : State::lost;
      if (!ended->alive) display_.notice(peer.view.name + " ended: " + ended->reason);
    }
  }
  if (peer.process->exit() && !peer.exit_seen) see_exit(peer);
}

void PoolWatch::see_exit(Watched& peer) {
  peer.exit_seen = true;
  const PeerExit& exit = *peer.process->exit();
  const bool told_to = exit.code == 128 + SIGINT || exit.code == 128 + SIGTERM;
  const bool well = exit.signal == 0 && (peer.told_end || exit.code == 0 || told_to);
  if (peer.waits_for_start && stopped_at_) return;  // stopped before it was back: still lost
  if (well) {
    if (peer.view.ended.empty()) peer.view.ended = told_to ? "interrupted" : "ended";
    if (peer.view.status.state != State::lost) peer.view.status.state = State::ended;
    return;
  }
  peer.view.status.state = State::lost;
  peer.view.ended = peer.disobedient ? "did not stop, " + exit.text : exit.text;
  deaths_.push_back({wall_s(), peer.view.name, peer.process->host(), peer.view.ended});
  if (!started_) return;  // gather() says it
  if (may_start_again(peer)) {
    peer.restart_at =
        Clock::now() +
        std::min<Clock::duration>(patience_.restart * (1u << std::min(peer.starts_again, 8u)),
                                  kRestartMost);
    return;
  }
  display_.notice(peer.view.name + " " + peer.view.ended + "; " + std::to_string(live()) +
                  " go on");
}

bool PoolWatch::others_run(const Watched& peer) const {
  return std::any_of(peers_.begin(), peers_.end(), [&](const Watched& other) {
    return &other != &peer && !other.process->exit() && !other.told_end;
  });
}

// Not into a pool that is ending, or in which all others have finished.
bool PoolWatch::may_start_again(const Watched& peer) const {
  if (peer.starts_again >= config_.restarts || stopped_at_) return false;
  const bool someone_finished = std::any_of(peers_.begin(), peers_.end(),
                                            [](const Watched& other) { return other.told_end; });
  return others_run(peer) || !someone_finished;
}

void PoolWatch::start_again(Watched& peer) {
  peer.restart_at.reset();
  const auto death = std::find_if(deaths_.rbegin(), deaths_.rend(), [&](const PeerDeath& each) {
    return each.peer == peer.view.name;
  });
  if (!may_start_again(peer)) {
    display_.notice(peer.view.name + " " + death->how + "; " + std::to_string(live()) + " go on");
    return;
  }
  death->last = last_event(run_ + "/peers/" + peer.view.name + "/events.jsonl");
  const std::string which =
      std::to_string(++peer.starts_again) + " of " + std::to_string(config_.restarts);
  try {
    peer.process->start_again();
  } catch (const kernels::UsageError& error) {
    display_.notice(peer.view.name + " " + death->how + "; not started again: " + error.what());
    return;
  }
  display_.notice(peer.view.name + " " + death->how + "; started again (" + which + ")");
  death->how += "; started again (" + which + ")";
  std::erase_if(told_, [&](const std::string& news) { return news.starts_with(peer.view.name); });
  peer.view.pid = peer.process->pid();
  peer.view.status = PeerStatus();
  peer.view.ended.clear();
  peer.exit_seen = peer.told_end = false;
  peer.waits_for_start = true;
  peer.heard_at = Clock::now();
}

// Tells it who is who; one that comes back takes up what is asked of the pool meanwhile.
void PoolWatch::let_begin(Watched& peer) {
  control::Start start;
  start.run = run_;
  for (const Watched& each : peers_) start.peers.push_back(each.address);
  start.incarnation = peer.starts_again;
  start.late = peer.waits_for_start && others_run(peer);
  peer.process->send(start);
  if (!std::exchange(peer.waits_for_start, false)) return;
  if (peer.slow_factor > 1.0) peer.process->send(control::Slow{peer.slow_factor});
  if (faults_.network().any()) peer.process->send(faults_.network());
  for (const control::Hostile& order : peer.hostile) peer.process->send(order);
  if (evaluating_) peer.process->send(control::Evaluate{evaluation_round_});
}

std::optional<PoolWatch::NotReady> PoolWatch::gather() {
  Clock::time_point said = begun_;
  for (;;) {
    poll_once();
    if (auto failure = first_that_ended()) {
      end_all();
      return failure;
    }
    if (const int number = stop_signal_()) {
      end_all();
      return NotReady{128 + number, ""};
    }
    std::string missing;
    for (const Watched& peer : peers_) {
      if (peer.address.empty()) missing += " " + peer.view.name;
    }
    if (missing.empty()) return std::nullopt;
    if (Clock::now() - said > kSayWaiting) {
      said = Clock::now();
      display_.notice("waiting for" + missing + " to load data and listen");
    }
  }
}

std::optional<PoolWatch::NotReady> PoolWatch::first_that_ended() {
  for (const Watched& peer : peers_) {
    if (!peer.process->exit()) continue;
    const PeerExit& exit = *peer.process->exit();
    std::string line = peer.process->last_stderr_line();
    if (line.starts_with("hearsay: ")) line = line.substr(9);
    const bool its_own_code = exit.signal == 0 && (exit.code == 2 || exit.code == 4);
    return NotReady{its_own_code ? exit.code : static_cast<int>(kernels::ExitCode::usage),
                    peer.view.name + " could not start: " + (line.empty() ? exit.text : line)};
  }
  return std::nullopt;
}

void PoolWatch::end_all() {
  signal_all(SIGTERM);
  const auto begin = Clock::now();
  while (running() && Clock::now() - begin < kEndBudget) poll_once();
  signal_all(SIGKILL);
  while (running()) poll_once();
}

PoolEnding PoolWatch::watch(const std::string& run) {
  run_ = run;
  for (Watched& peer : peers_) let_begin(peer);
  started_ = true;
  for (Watched& peer : peers_) peer.heard_at = Clock::now();
  while (running()) {
    poll_once();
    for (Watched& peer : peers_) {
      if (peer.restart_at && Clock::now() >= *peer.restart_at) start_again(peer);
    }
    carry_out_faults();
    check_target();
    check_ends();
    show(false);
  }
  if (config_.target && !target_reached_s_ && !stopped_at_) judge_target();
  show(true);
  return ending();
}

void PoolWatch::send_all(const control::ToPeer& order) {
  for (Watched& peer : peers_) peer.process->send(order);
}

void PoolWatch::signal_all(int number) {
  for (Watched& peer : peers_) peer.process->signal(number);
}

bool PoolWatch::running() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const Watched& peer) {
    return !peer.process->exit() || peer.restart_at.has_value();
  });
}

std::uint32_t PoolWatch::live() const {
  return static_cast<std::uint32_t>(
      std::count_if(peers_.begin(), peers_.end(),
                    [](const Watched& peer) { return peer.view.status.state != State::lost; }));
}

double PoolWatch::mean_progress() const {
  double sum = 0.0;
  for (const Watched& peer : peers_) {
    if (peer.view.status.state != State::lost)
      sum += peer.told_end ? 1.0 : std::min(1.0, peer.view.status.progress);
  }
  return live() > 0 ? sum / live() : 1.0;
}

double PoolWatch::since_start_s() const {
  if (!trained_since_) return 0.0;
  return std::chrono::duration<double>(Clock::now() - *trained_since_).count();
}

// Every quarter epoch of mean progress all live peers are asked to evaluate; when all have, the
// mean counts, and the instant is that of the latest evaluation. Whoever has ended counts with its
// last one, whoever is silent is not waited for.
void PoolWatch::check_target() {
  if (!config_.target || target_reached_s_ || stopped_at_) return;
  if (!evaluating_) {
    if (mean_progress() * config_.epochs < next_target_check_) return;
    const double quarters = std::floor(mean_progress() * config_.epochs / kTargetCheckEpochs);
    next_target_check_ = (quarters + 1.0) * kTargetCheckEpochs;  // a resumed pool begins late
    evaluating_ = true;
    send_all(control::Evaluate{++evaluation_round_});
    return;
  }
  for (const Watched& peer : peers_) {
    const bool answers = !peer.process->exit() && !peer.told_end &&
                         Clock::now() - peer.heard_at <= patience_.silence;
    if (answers && peer.view.status.evaluation_round < evaluation_round_) return;
  }
  evaluating_ = false;
  judge_target();
  if (target_reached_s_) stop("target reached");
}

void PoolWatch::judge_target() {
  double sum = 0.0, latest_s = 0.0;
  for (const Watched& peer : peers_) {
    if (peer.view.status.state == State::lost) continue;
    if (peer.view.status.accuracy < 0.0) return;  // ended before its first evaluation
    sum += peer.view.status.accuracy;
    latest_s = std::max(latest_s, peer.view.status.evaluated_s);
  }
  if (live() == 0) return;
  now_.target_now = sum / live();
  now_.target_best = std::max(now_.target_best, *now_.target_now);
  if (*now_.target_now >= config_.target->value) target_reached_s_ = latest_s;
}

// Everything that may end the run before the peers do, and what ends peers that don't.
void PoolWatch::check_ends() {
  if (config_.time_s && since_start_s() >= *config_.time_s) stop("time");
  if (stop_signal_() != 0) stop("interrupted");
  const auto now = Clock::now();
  const auto ended = std::count_if(peers_.begin(), peers_.end(),
                                   [](const Watched& peer) { return peer.told_end; });
  if (!nobody_trains() || ended != ended_) settled_since_.reset();
  ended_ = ended;
  if (nobody_trains() && !settled_since_) settled_since_ = now;
  if (settled_since_ && now - *settled_since_ > patience_.settled) stop("stopped");
  if (stopped_at_) end_disobedient(now);
}

// Someone has finished, and whoever has not is gone or silent.
bool PoolWatch::nobody_trains() const {
  bool someone_has_finished = false;
  for (const Watched& peer : peers_) {
    const bool finished = peer.told_end || peer.view.status.progress >= 1.0;
    const bool silent = Clock::now() - peer.heard_at > patience_.silence;
    if (!finished && !silent && !peer.process->exit()) return false;
    someone_has_finished |= finished;
  }
  return someone_has_finished;
}

// A signal is obeyed within patience_.stop. Other stops leave a peer time for its last evaluation,
// which takes long where there are more peers than cores; one that does not compute is stuck.
void PoolWatch::end_disobedient(Clock::time_point now) {
  for (Watched& peer : peers_) {
    if (peer.process->exit() || peer.disobedient) continue;
    const auto passed = now - peer.looked_at;
    if (passed >= kIdleLook) {
      const double cpu_s = peer.process->cpu_s();
      const double spent_s = std::chrono::duration<double>(passed).count();
      if (cpu_s - peer.cpu_s >= kIdleShare * spent_s) peer.computed_at = now;
      peer.looked_at = now;
      peer.cpu_s = cpu_s;
    }
    const bool is_busy = now - peer.computed_at < patience_.idle;
    const auto budget = stop_signal_() == 0 && is_busy ? patience_.busy_stop : patience_.stop;
    if (now - *stopped_at_ < budget) continue;
    peer.disobedient = true;
    peer.process->signal(SIGKILL);
  }
}

void PoolWatch::stop(const std::string& reason) {
  if (stopped_at_) return;
  stopped_at_ = Clock::now();
  for (Watched& peer : peers_) peer.restart_at.reset();
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (stalled_[i]) peers_[i].process->signal(SIGCONT);  // the frozen cannot stop
  }
  send_all(control::Stop{reason});
}

void PoolWatch::show(bool now) {
  if (!now && Clock::now() - shown_ < kShow) return;
  shown_ = Clock::now();
  now_.wall_s = since_start_s();
  now_.live = live();
  display_.update_pool(now_);
  std::vector<PeerView> views;
  for (const Watched& peer : peers_) views.push_back(peer.view);
  display_.update(views);
}

PoolEnding PoolWatch::ending() const {
  PoolEnding ending;
  ending.wall_s = since_start_s();
  ending.signal = stop_signal_();
  ending.target_reached_s = target_reached_s_;
  ending.target_best = now_.target_best;
  ending.faults_never_fired = faults_.never_fired();
  ending.faults_never_fired.insert(ending.faults_never_fired.end(), missed_faults_.begin(),
                                   missed_faults_.end());
  for (const Watched& peer : peers_) {
    PeerEnding each;
    each.name = peer.view.name;
    each.host = peer.process->host();
    // Whoever has come back and ended well is not lost.
    const auto died = std::find_if(deaths_.rbegin(), deaths_.rend(), [&](const PeerDeath& death) {
      return death.peer == peer.view.name;
    });
    if (died != deaths_.rend() && peer.view.status.state == State::lost) each.how = died->how;
    if (peer.view.status.state != State::starting) each.last = peer.view.status;
    ending.peers.push_back(std::move(each));
  }
  return ending;
}

}  // namespace hearsay::runtime
