// SPDX-License-Identifier: Apache-2.0
// Where examples change hands: each has one owner at any time, or none and a peer that has set it
// aside; whatever is lost, and whoever dies. What the dead had is still theirs: it is written down.
#include <algorithm>
#include <vector>

#include "runtime/sim/checks/check.hpp"
#include "runtime/train/shard_trainer.hpp"

namespace hearsay::runtime {
namespace {

class Examples final : public SimCheck {
 public:
  void look(const SimHost& host, gossip::Time now) override {
    enum : std::uint8_t { kNowhere, kAside, kOwned };
    std::vector<std::uint8_t> where;  // [id]
    std::size_t found = 0;
    for (const SimPeer& peer : host.peers()) {
      const auto* trainer = dynamic_cast<const ShardTrainer*>(peer.trainer.get());
      if (trainer == nullptr || !trainer->passes_examples_on()) return;
      const ExampleKeeper& keeper = *trainer->examples_kept();
      for (std::uint32_t row = 0; row < trainer->shard().count(); ++row) {
        if (!trainer->has_example(row) || keeper.is_guest(row)) continue;
        const std::uint32_t id = trainer->shard().ids[row];
        if (id >= where.size()) where.resize(id + 1, kNowhere);
        found += where[id] == kNowhere;
        if (where[id] == kOwned && !keeper.is_aside(row))
          broken(now, "example " + std::to_string(id) + " has two owners");
        where[id] = std::max<std::uint8_t>(where[id], keeper.is_aside(row) ? kAside : kOwned);
      }
    }
    if (known_ == 0) known_ = found;
    if (found != known_)
      broken(now, std::to_string(found) + " examples are left of " + std::to_string(known_));
  }

 private:
  std::size_t known_ = 0;
};

}  // namespace

std::unique_ptr<SimCheck> check_examples() { return std::make_unique<Examples>(); }

}  // namespace hearsay::runtime
