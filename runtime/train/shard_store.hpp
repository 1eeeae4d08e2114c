// SPDX-License-Identifier: Apache-2.0
// A trainer's shard as the protocol may change it: examples offered, taken, deleted. New ones are
// looked at by the own model before it is trained on them. Always keeps kMinShardExamples to train
// on. Owned by a ShardTrainer; compute lane. Cost: a forward pass over what comes, and where the
// partner's model is asked, over kCandidates times what goes.
#pragma once

#include <memory>
#include <vector>

#include "gossip/examples/example_store.hpp"
#include "runtime/examples/example_keeper.hpp"

namespace hearsay::runtime {

class ShardTrainer;

class ShardStore final : public gossip::ExampleStore {
 public:
  ShardStore(ShardTrainer& trainer, const PassingPlan& plan, const gossip::ExampleShape& shape);
  void use(std::size_t worker) { worker_ = worker; }  // its scratch memory

  const gossip::ExampleShape& shape() const override { return shape_; }
  std::vector<gossip::Example> choose(kernels::PeerId to, std::optional<double> alike,
                                      std::size_t most, bool copies) override;
  std::uint64_t take(kernels::PeerId from, const std::vector<gossip::Example>& examples,
                     bool copies) override;
  void settle(std::span<const std::uint32_t> ids, std::uint64_t taken) override;

  // The model of `from`, before it is merged: asked about some of the own examples, where the rule
  // goes by that.
  void heard(kernels::PeerId from, std::span<const float> weights);

 private:
  // Rows the partner's model is asked about, for each that goes.
  static constexpr std::size_t kCandidates = 8;
  // Copies of others' examples, as a share of the shard.
  static constexpr double kMostGuests = 0.1;

  gossip::Example example_at(std::uint32_t row);
  std::optional<std::uint32_t> row_of(std::uint32_t id) const;

  ShardTrainer& trainer_;
  PassingPlan plan_;
  gossip::ExampleShape shape_;
  std::size_t most_guests_, worker_ = 0;
  // What the partner heard last made of some rows; gone once it has been offered something.
  kernels::PeerId asked_;
  std::vector<std::uint32_t> asked_rows_;
  std::vector<float> asked_confidence_;
};

}  // namespace hearsay::runtime
