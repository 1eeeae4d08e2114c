// SPDX-License-Identifier: Apache-2.0
// What of a running simulation is kept, so that it goes on as if it had never stopped.
#include <algorithm>
#include <utility>

#include "runtime/sim/sim_host.hpp"

namespace hearsay::runtime {

using gossip::Archive;
using kernels::PeerId;

void PeerOutcome::state(Archive& a) {
  kernels::Buffer<float> before(before_end_game.size());
  std::copy(before_end_game.begin(), before_end_game.end(), before.data());
  a("alive", alive)("reason", reason)("payload_bytes", payload_bytes)("wire_bytes", wire_bytes);
  if (example_bytes > 0 || a.has("example_bytes")) a("example_bytes", example_bytes);
  a("ended", ended).array("before_end_game", before);
  before_end_game.assign(before.data(), before.data() + before.size());
}

void SimOutcome::state(Archive& a) {
  a("peers", peers)("virtual_time", virtual_time)("target_reached", target_reached);
  a("target_best", target_best)("sent", sent)("delivered", delivered)("lost", lost);
}

void SimHost::Pending::state(Archive& a) {
  std::optional<gossip::Frame> content;
  if (frame) content = *frame;
  a("what", what)("peer", peer)("who", who)("id", id)("frame", content);
  a("when_quiet", when_quiet)("patience", patience)("life", life);
  if (!a.loading()) return;
  frame = content ? std::make_shared<gossip::Frame>(std::move(*content)) : nullptr;
  if (what > What::stop_deadline) a.fail("what", "does not exist");
  if ((what == What::frame) != (frame != nullptr)) a.fail("frame", "does not fit the event");
}

void SimHost::Running::state(Archive& a) {
  a("in_step", in_step)("dead", dead)("finished", finished)("report", job.report);
  a("life", life);
  a("evaluations", evaluations)("smoothed_loss", smoothed_loss)("last_accuracy", last_accuracy);
  a("frozen", frozen);
  if (!written.empty() || a.has("written")) a("written", written);
}

void SimHost::state_of_heap(Archive& archive) {
  std::vector<Waiting> waiting;
  std::uint64_t next = heap_.next_order();
  heap_.for_each_in_turn([&](gossip::Time at, std::uint64_t order, const Pending& event) {
    waiting.push_back({at, order, event});
  });
  archive("heap", waiting)("next_order", next);
  if (!archive.loading()) return;
  for (Waiting& each : waiting) heap_.restore(each.at, each.order, std::move(each.event));
  heap_.set_next_order(next);
}

void SimHost::check_loaded(const Archive& archive) const {
  if (outcome_.peers.size() != peers_.size()) archive.fail("outcome", "is not one a peer");
  const auto check = [&](const Pending& event) {
    const std::size_t peers = peers_.size();
    const bool known = event.peer.value < peers && event.who.value < peers;
    const gossip::Frame* const frame = event.frame.get();
    if (!known || (frame && (frame->from.value >= peers || frame->to.value >= peers)))
      archive.fail("heap", "names a peer that the pool does not have");
  };
  heap_.for_each(check);
  for (const Running& peer : running_) {
    for (const auto& [at, event] : peer.frozen) check(event);
  }
}

void SimHost::state(Archive& archive) {
  struct Peer {  // what the host does not own
    SimPeer& parts;
    void state(Archive& a) {
      a("trainer", *parts.trainer)("model", *parts.model)("protocol", *parts.protocol);
    }
  };
  for (Running& peer : running_) lane_.wait(peer.job);
  archive("begun", begun_)("stopping", stopping_)("deadline_set", deadline_set_);
  archive("abandoned", abandoned_)("live", live_)("next_target_check", next_target_check_);
  archive("steps", steps_)("progress_steps", progress_steps_)("budget_steps", budget_steps_);
  archive("network", network_)("compute", compute_)("faults", faults_);
  archive("outcome", outcome_)("moving_until", moving_until_);
  state_of_heap(archive);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Peer peer{peers_[i]};
    archive(("running_" + names_[i]).c_str(), running_[i]);
    if (archive.loading() && running_[i].life > 0) {
      if (!options_.rebirth.new_protocol)
        archive.fail("life", "peers of this pool do not come back");
      options_.rebirth.new_protocol(peers_[i], PeerId(static_cast<std::uint32_t>(i)),
                                    running_[i].life);
    }
    archive(names_[i].c_str(), peer);
    archive(("tamper_" + names_[i]).c_str(), tampers_[i]);
  }
  if (archive.loading()) check_loaded(archive);
}

}  // namespace hearsay::runtime
