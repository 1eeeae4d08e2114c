// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/peer_keeper.hpp"

#include <utility>

#include "gossip/event.hpp"

namespace hearsay::runtime {

PeerKeeper::PeerKeeper(const std::string& folder, std::optional<double> every_s, std::string peer,
                       Make make)
    : lane_(CheckpointStore(folder)),
      every_(every_s),
      peer_(std::move(peer)),
      make_(std::move(make)) {}

void PeerKeeper::at_boundary(LiveHost& host, std::uint64_t steps, bool asked, bool stopping) {
  using Clock = std::chrono::steady_clock;
  if (const auto outcome = lane_.take_outcome()) tell(host, *outcome);
  wanted_ |= asked || (stopping && !std::exchange(stopping_, stopping)) ||
             (every_ && Clock::now() - last_ >= *every_);
  if (!wanted_ || lane_.busy()) return;
  wanted_ = false;
  last_ = Clock::now();
  lane_.begin(steps, make_(host));
}

void PeerKeeper::tell(LiveHost& host, const CheckpointLane::Outcome& outcome) {
  if (!outcome.failure) {
    gossip::Event written("ckpt.written");
    written.add("dir", "ckpt/" + outcome.written.name);
    written.add("bytes", static_cast<std::int64_t>(outcome.written.bytes));
    host.record_now(std::move(written.add("dur_ns", std::int64_t{outcome.written.took.count()})));
  }
  if (outcome.failure.has_value() == std::exchange(failing_, outcome.failure.has_value())) return;
  gossip::Event fault("fault.seen");
  fault.add("kind", std::string(failing_ ? "no checkpoint" : "checkpoints again"));
  fault.add("who", peer_).add("detail", outcome.failure.value_or("the disk takes them"));
  host.record_now(std::move(
      fault.add("action", std::string(failing_ ? "goes on with the last good one" : "goes on"))));
}

}  // namespace hearsay::runtime
