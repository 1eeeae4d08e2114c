// SPDX-License-Identifier: Apache-2.0
// Push-sum: the masses of all peers, of what is in flight and of what waits add up to the number of
// peers, as long as nothing was lost and nobody died (Kempe, Dobra, Gehrke 2003, proposition 2.2).
// Later it only falls.
#include <cmath>

#include "runtime/sim/checks/check.hpp"

namespace hearsay::runtime {
namespace {

constexpr double kTolerance = 1e-6;  // relative; masses are doubles, sent as they are

class Mass final : public SimCheck {
 public:
  void look(const SimHost& host, gossip::Time now) override {
    if (!host.options().has_mass) return;
    double total = 0.0;
    bool is_whole = host.outcome().lost.frames == 0;
    std::uint32_t lives = 0;
    for (std::uint32_t i = 0; i < host.peers().size(); ++i) {
      const kernels::PeerId id(i);
      is_whole = is_whole && !host.is_dead(id);
      lives += host.life(id) + 1;
      if (host.is_dead(id)) continue;
      total += host.peers()[i].protocol->counters().mass;
      host.peers()[i].protocol->for_each_waiting(
          [&](const gossip::Frame& frame) { total += frame.mass; });
    }
    host.for_each_frame_in_flight([&](const gossip::Frame& frame) {
      if (frame.carries_weights() && frame.kind != gossip::FrameKind::model) total += frame.mass;
    });
    // Whoever begins again brings a mass of its own.
    const double most = lives;
    if (total > most * (1.0 + kTolerance) || (is_whole && total < most * (1.0 - kTolerance))) {
      broken(now, "mass: adds up to " + std::to_string(total) + " in a pool of " +
                      std::to_string(lives) + (is_whole ? "" : " at most"));
    }
  }
};

}  // namespace

std::unique_ptr<SimCheck> check_mass() { return std::make_unique<Mass>(); }

}  // namespace hearsay::runtime
