// SPDX-License-Identifier: Apache-2.0
// --chaos in live pools: what the watcher does to peers, and what it tells them to do to the
// others.
#include <csignal>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/launch/pool_watch.hpp"

namespace hearsay::runtime {
namespace {

gossip::Time run_clock(double seconds) {
  return gossip::Time(static_cast<std::int64_t>(seconds * 1e9));
}

}  // namespace

std::vector<Fault> parse_live_faults(const RunConfig& config) {
  std::vector<Fault> faults = parse_faults(config.chaos, config.peers, config.seed);
  for (const Fault& fault : faults) {
    if (fault.kind == Fault::Kind::slow && fault.factor < 1.0)
      throw kernels::UsageError("--chaos: " + fault.text + ": a process cannot be made faster");
    if (fault.kind == Fault::Kind::reorder || fault.kind == Fault::Kind::duplicate)
      throw kernels::UsageError("--chaos: " + fault.text +
                                ": TCP neither reorders nor doubles; try it in hearsay sim");
    if (fault.kind == Fault::Kind::kill && fault.to)
      throw kernels::UsageError("--chaos: " + fault.text +
                                ": killed processes come back by --restarts N, at once; only "
                                "simulated ones at a time of their own");
  }
  return faults;
}

void PoolWatch::carry_out_faults() {
  if (!trained_since_) return;
  const NetworkFaults before = faults_.network();
  for (const auto& change : faults_.advance(mean_progress(), run_clock(since_start_s())))
    apply(change);
  if (faults_.network() != before) send_all(faults_.network());
}

void PoolWatch::apply(const FaultSchedule::Change& change) {
  const Fault& fault = *change.fault;
  for (const kernels::PeerId id : fault.peers) {
    Watched& peer = peers_[id.value];
    if (change.begins && (peer.process->exit() || peer.told_end)) {
      missed_faults_.push_back(fault.text);
      continue;
    }
    switch (fault.kind) {
      case Fault::Kind::kill: peer.process->signal(SIGKILL); break;
      case Fault::Kind::slow:
        peer.slow_factor = fault.factor;
        peer.process->send(control::Slow{fault.factor});
        break;
      case Fault::Kind::stall:
        stalled_[id.value] = change.begins;
        peer.process->signal(change.begins ? SIGSTOP : SIGCONT);
        display_.notice(peer.view.name + (change.begins ? " stalled" : " goes on") + " (" +
                        fault.text + ")");
        break;
      case Fault::Kind::partition:
        display_.notice(peer.view.name + (change.begins ? " cut off" : " reached again") + " (" +
                        fault.text + ")");
        break;
      case Fault::Kind::attack:
        make_hostile(peer, {name_of(fault.attack), fault.factor, change.begins});
        break;
      case Fault::Kind::label_flip: make_hostile(peer, {"label-flip", 1.0, change.begins}); break;
      case Fault::Kind::poison: peer.process->send(control::Hostile{"poison", 1.0, true}); break;
      default: break;
    }
  }
}

// A peer that is started again goes on with it.
void PoolWatch::make_hostile(Watched& peer, control::Hostile order) {
  peer.process->send(order);
  std::erase_if(peer.hostile, [&](const auto& before) { return before.what == order.what; });
  if (order.begins) peer.hostile.push_back(std::move(order));
}

}  // namespace hearsay::runtime
