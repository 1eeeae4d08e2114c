// SPDX-License-Identifier: Apache-2.0
// Once all faults are over, every peer that trains merges again within a bound: the longest silence
// that an exchange is allowed, the longest time that a partner is avoided, and the cool-down of a
// partner with strikes, with room for thirty blocks between. Where merges go one way, starting one
// counts too: what comes in is a matter of how many others still train.
#include <algorithm>
#include <optional>

#include "gossip/limits.hpp"
#include "runtime/sim/checks/check.hpp"

namespace hearsay::runtime {
namespace {

constexpr auto kBound =
    2 * (gossip::limits::kQuietMost + gossip::limits::kAvoidMost + gossip::limits::kJoinAlone);
constexpr std::uint64_t kBlocks = 30;

class Mixing final : public SimCheck {
 public:
  void look(const SimHost& host, gossip::Time now) override {
    const std::uint64_t block = host.options().steps_between_merges;
    if (block == 0 || host.peers().size() < 2 || !host.is_calm()) return healed_.reset();
    if (!healed_) {
      healed_ = now;
      seen_.assign(host.peers().size(), {});
    }
    for (std::uint32_t i = 0; i < seen_.size(); ++i) {
      const kernels::PeerId id(i);
      const gossip::Counters& c = host.peers()[i].protocol->counters();
      const std::uint64_t merges =
          c.merges_applied + (host.options().is_one_way ? c.merges_started : 0);
      Seen& seen = seen_[i];
      if (!seen.since || seen.merges != merges || host.is_over(id) || !has_partner(host, id)) {
        seen = {now, merges, c.steps, c.steps, now};
        continue;
      }
      // Who has trained all it should only waits for others.
      if (seen.steps != c.steps) seen.trained_at = now;
      seen.steps = c.steps;
      const std::uint64_t trained = c.steps - seen.steps_then;
      if (seen.trained_at - *seen.since <= kBound || trained <= kBlocks * block) continue;
      broken(now, "mixing: " + gossip::peer_name(id) + " has trained " + std::to_string(trained) +
                      " mini-batches without a merge since " +
                      std::to_string(std::chrono::duration<double>(*seen.since).count()) + " s");
      seen.since = now;
    }
  }

 private:
  struct Seen {
    std::optional<gossip::Time> since;  // its newest merge
    std::uint64_t merges = 0, steps_then = 0, steps = 0;
    gossip::Time trained_at{0};  // the newest mini-batch
  };

  // On a ring a peer may be the only one left between two that died.
  bool has_partner(const SimHost& host, kernels::PeerId id) {
    if (partners_.empty()) partners_.resize(host.peers().size());
    auto& partners = partners_[id.value];
    if (!partners) {
      const auto peers = static_cast<std::uint32_t>(host.peers().size());
      partners = possible_partners(*host.options().topology, id, peers);
    }
    return std::any_of(partners->begin(), partners->end(),
                       [&](kernels::PeerId other) { return !host.is_over(other); });
  }

  std::optional<gossip::Time> healed_;
  std::vector<Seen> seen_;                                             // [peer]
  std::vector<std::optional<std::vector<kernels::PeerId>>> partners_;  // [peer], once asked for
};

}  // namespace

std::unique_ptr<SimCheck> check_mixing() { return std::make_unique<Mixing>(); }

}  // namespace hearsay::runtime
