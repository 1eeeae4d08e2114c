// SPDX-License-Identifier: Apache-2.0
// Steps, samples, merges and refusals of a peer never go back while it lives.
#include <array>

#include "runtime/sim/checks/check.hpp"

namespace hearsay::runtime {
namespace {

class Versions final : public SimCheck {
 public:
  void look(const SimHost& host, gossip::Time now) override {
    seen_.resize(host.peers().size());
    for (std::uint32_t i = 0; i < seen_.size(); ++i) {
      const gossip::Counters& c = host.peers()[i].protocol->counters();
      const std::array<std::uint64_t, kKinds> is{c.steps, c.samples, c.merges_started,
                                                 c.merges_applied, c.merges_refused};
      Seen& before = seen_[i];
      const std::uint32_t life = host.life(kernels::PeerId(i));
      for (std::size_t k = 0; k < kKinds && life == before.life; ++k) {
        if (is[k] < before.counts[k]) {
          broken(now, std::string("versions: ") + kNames[k] + " of " +
                          gossip::peer_name(kernels::PeerId(i)) + " went from " +
                          std::to_string(before.counts[k]) + " back to " + std::to_string(is[k]));
        }
      }
      before = {life, is};
    }
  }

 private:
  static constexpr std::size_t kKinds = 5;
  static constexpr std::array<const char*, kKinds> kNames{"steps", "samples", "merges started",
                                                          "merges applied", "merges refused"};
  struct Seen {
    std::uint32_t life = 0;
    std::array<std::uint64_t, kKinds> counts{};
  };
  std::vector<Seen> seen_;  // [peer]
};

}  // namespace

std::unique_ptr<SimCheck> check_versions() { return std::make_unique<Versions>(); }

}  // namespace hearsay::runtime
