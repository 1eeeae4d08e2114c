// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/follower.hpp"

#include <unistd.h>

#include <csignal>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

Follower::Follower(MpiLink& link, WatchedPeer& peer, HeldOutput& output, Told told)
    : link_(link), peer_(peer), output_(output), told_(std::move(told)) {
  tell(relay::Hello{peer.host(), peer.pid()});
}

std::optional<int> Follower::step() {
  std::vector<pollfd> descriptors;
  peer_.add_descriptors(descriptors);
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(kTick.count()));
  hear_peer();
  for (const MpiLink::Message& message : link_.receive()) {
    if (const auto order = relay::decode_to_supervisor(message.text)) obey(*order);
  }
  heed_signals();
  output_.flush();
  return verdict_;
}

void Follower::tell(const relay::FromSupervisor& message) { link_.send(0, relay::encode(message)); }

void Follower::hear_peer() {
  const auto tell_status = [&] {
    if (untold_) tell(control::FromPeer(*untold_));
    untold_.reset();
    told_status_at_ = Clock::now();
  };
  for (const control::FromPeer& message : peer_.receive()) {
    if (const auto* status = std::get_if<PeerStatus>(&message)) {
      untold_ = *status;
    } else {
      if (std::holds_alternative<control::Ended>(message)) tell_status();
      tell(message);
    }
  }
  if (Clock::now() - told_status_at_ >= kTellStatus || peer_.exit()) tell_status();
  if (!peer_.exit() && Clock::now() - told_cpu_at_ >= kTellCpu) {
    told_cpu_at_ = Clock::now();
    tell(relay::Cpu{peer_.cpu_s()});
  }
  if (!peer_.exit() || told_exit_) return;
  told_exit_ = true;
  tell(relay::Exit{*peer_.exit(), peer_.cpu_s(), peer_.last_stderr_line()});
}

void Follower::obey(const relay::ToSupervisor& order) {
  if (const auto* signal = std::get_if<relay::Signal>(&order)) {
    peer_.signal(signal->number);
  } else if (std::holds_alternative<relay::StartAgain>(order)) {
    start_again();
  } else if (const auto* verdict = std::get_if<relay::Verdict>(&order)) {
    verdict_ = verdict->code;
  } else if (const auto* to_peer = std::get_if<control::ToPeer>(&order)) {
    if (const auto* start = std::get_if<control::Start>(to_peer)) {
      try {
        const bool is_elsewhere = ::access(start->run.c_str(), F_OK) != 0;
        const RunDir run = RunDir::open_or_create(start->run);
        if (is_elsewhere) {
          tell(control::FromPeer(control::Notice{
              peer_.name() + " leaves its files on " + peer_.host() + ", which does not see " +
              start->run + "; they do not count in the result"}));
        }
        run.prepare_peer_dir(peer_.name());
        output_.keep_in(run.peer_stderr(peer_.name()));
      } catch (const kernels::Fault&) {  // the peer meets the same obstacle and says so
      }
    }
    peer_.send(*to_peer);
  }
}

void Follower::start_again() {
  try {
    peer_.start_again();
  } catch (const kernels::UsageError& error) {
    tell(relay::Exit{{error.what(), static_cast<int>(error.code()), 0}, 0.0, error.what()});
    return;
  }
  told_exit_ = false;
  tell(relay::Hello{peer_.host(), peer_.pid()});
}

void Follower::heed_signals() {
  if (told_.checkpoint_asked()) peer_.signal(SIGUSR1);
  if (told_.stop_signal() == 0 || peer_.exit()) return;
  if (!stopped_at_) {
    stopped_at_ = Clock::now();
    peer_.signal(SIGCONT);                 // the frozen cannot stop
    peer_.send(control::Stop{"stopped"});  // not "interrupted": that is said of whole pools
  } else if (Clock::now() - *stopped_at_ >= kStopBudget) {
    peer_.signal(SIGKILL);
  }
}

}  // namespace hearsay::runtime
