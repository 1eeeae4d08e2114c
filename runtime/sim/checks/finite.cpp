// SPDX-License-Identifier: Apache-2.0
// Whoever finishes alive has weights that are numbers.
#include <algorithm>
#include <cmath>

#include "runtime/sim/checks/check.hpp"

namespace hearsay::runtime {
namespace {

class Finite final : public SimCheck {
 public:
  // In mid-run a peer may just have been poisoned: it must notice by the end.
  void look(const SimHost&, gossip::Time) override {}

  void at_end(const SimHost& host, gossip::Time now) override {
    for (std::uint32_t i = 0; i < host.peers().size(); ++i) {
      if (!host.outcome().peers[i].alive) continue;
      const auto weights = host.peers()[i].trainer->read_weights();
      const auto bad =
          std::count_if(weights.begin(), weights.end(), [](float w) { return !std::isfinite(w); });
      if (bad == 0) continue;
      broken(now, "finite: " + gossip::peer_name(kernels::PeerId(i)) + " ends with " +
                      std::to_string(bad) + " weights of " + std::to_string(weights.size()) +
                      " that are no numbers");
    }
  }
};

}  // namespace

std::unique_ptr<SimCheck> check_finite() { return std::make_unique<Finite>(); }

}  // namespace hearsay::runtime
