// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/shard_store.hpp"

#include <algorithm>

#include "kernels/core/check.hpp"
#include "runtime/data/partition.hpp"
#include "runtime/train/shard_trainer.hpp"

namespace hearsay::runtime {

using gossip::Example;
using kernels::PeerId;

ShardStore::ShardStore(ShardTrainer& trainer, const PassingPlan& plan,
                       const gossip::ExampleShape& shape)
    : trainer_(trainer),
      plan_(plan),
      shape_(shape),
      most_guests_(
          static_cast<std::size_t>(kMostGuests * static_cast<double>(trainer.shard().count())) +
          1) {
  HS_CHECK(trainer.shard().ids.size() == trainer.shard().count());
}

std::optional<std::uint32_t> ShardStore::row_of(std::uint32_t id) const {
  const ImageSet& shard = trainer_.shard();
  for (std::uint32_t row = 0; row < shard.count(); ++row) {
    if (shard.ids[row] == id) return row;
  }
  return std::nullopt;
}

void ShardStore::heard(PeerId from, std::span<const float> weights) {
  asked_rows_.clear();
  if (!plan_.asks_receiver()) return;
  ExampleKeeper& keeper = *trainer_.keeper_;
  asked_ = from;
  asked_rows_ = keeper.to_offer();
  keeper.rng().shuffle(asked_rows_);
  asked_rows_.resize(std::min(asked_rows_.size(), kCandidates * plan_.most));
  asked_confidence_.clear();
  for (const Look& look : trainer_.looks_at(asked_rows_, weights, 1.0, worker_))
    asked_confidence_.push_back(look.confidence);
}

std::vector<Example> ShardStore::choose(PeerId to, std::optional<double> alike, std::size_t most,
                                        bool copies) {
  ExampleKeeper& keeper = *trainer_.keeper_;
  const std::size_t trainable = keeper.trainable();
  if (trainable <= kMinShardExamples) return {};
  if (!copies) most = std::min(most, trainable - kMinShardExamples);
  const bool asked = !asked_rows_.empty() && asked_ == to;
  if (plan_.asks_receiver() && !asked) return {};
  const std::vector<std::uint32_t> rows = asked ? asked_rows_ : keeper.to_offer();
  std::vector<float> confidence;
  for (const std::uint32_t row : rows) confidence.push_back(keeper.confidence(row));
  const PassingChoice from{
      keeper.ledger(),
      rows,
      trainer_.shard().labels,
      confidence,
      asked ? std::span<const float>(asked_confidence_) : std::span<const float>{},
      to,
      alike};
  std::vector<Example> examples;
  for (const std::uint32_t row : choose_rows(plan_, from, most, keeper.rng())) {
    examples.push_back(example_at(row));
    if (!copies) keeper.set_aside(row, true);
  }
  asked_rows_.clear();
  return examples;
}

Example ShardStore::example_at(std::uint32_t row) {
  const ExampleKeeper& keeper = *trainer_.keeper_;
  const ImageSet& shard = trainer_.shard();
  const auto image = shard.image(row);
  Example example;
  example.id = shard.ids[row];
  example.label = shard.labels[row];
  example.hops = static_cast<std::uint16_t>(std::min(keeper.passed(row).hops, 65'535u));
  example.visitors = keeper.ledger().visitors[row].words();
  example.opinions = keeper.passed(row).opinions;
  std::rotate(example.opinions.begin(), example.opinions.begin() + 1, example.opinions.end());
  example.opinions.back() = {keeper.ledger().self().value,
                             std::clamp(keeper.confidence(row), 0.0f, 1.0f)};
  example.image.assign(image.begin(), image.end());
  return example;
}

std::uint64_t ShardStore::take(PeerId, const std::vector<Example>& examples, bool copies) {
  ExampleKeeper& keeper = *trainer_.keeper_;
  std::uint64_t taken = 0;
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (row_of(examples[i].id)) continue;
    if (copies && rows.size() >= most_guests_) break;  // they would push each other out
    if (copies) {
      if (const auto leaves = keeper.guest_to_leave(most_guests_))
        trainer_.drop(static_cast<std::uint32_t>(*leaves));
    }
    const auto row = static_cast<std::uint32_t>(keeper.settle(examples[i], copies));
    trainer_.put(row, examples[i].id, examples[i].label, examples[i].image);
    rows.push_back(row);
    taken |= std::uint64_t{1} << i;
  }
  if (!rows.empty()) trainer_.look_at_arrivals(rows, worker_);
  return taken;
}

void ShardStore::settle(std::span<const std::uint32_t> ids, std::uint64_t taken) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto row = row_of(ids[i]);
    if (!row) continue;  // of a checkpoint older than the offer
    if (taken >> i & 1)
      trainer_.drop(*row);
    else
      trainer_.keeper_->set_aside(*row, false);
  }
}

}  // namespace hearsay::runtime
