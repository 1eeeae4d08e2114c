// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/shard_trainer.hpp"

#include <algorithm>
#include <utility>

#include "kernels/core/check.hpp"
#include "runtime/train/evaluate.hpp"

namespace hearsay::runtime {

ShardTrainer::ShardTrainer(NnContext& context, ImageSet shard, const NnTrainerOptions& options)
    : batches_(options.seed, options.peer, options.batch, shard.count(), options.probe_share),
      context_(context),
      shard_(std::move(shard)),
      options_(options),
      steps_per_epoch_(options.steps_per_epoch > 0 ? options.steps_per_epoch
                                                   : batches_.steps_per_pass()) {
  HS_CHECK(options.batch <= context.max_batch());
}

std::uint8_t ShardTrainer::label_of(std::uint32_t example) const {
  const std::uint8_t label = shard_.labels[example];
  return flipped_ ? static_cast<std::uint8_t>(shard_.classes - 1 - label) : label;
}

double ShardTrainer::lr_factor() const {
  return schedule_factor(options_.schedule, steps_, options_.epochs * steps_per_epoch_);
}

gossip::StepReport ShardTrainer::report(std::size_t samples, const kernels::LossSums& sums) const {
  return {static_cast<std::uint32_t>(samples), sums.loss / static_cast<double>(samples),
          static_cast<std::uint32_t>(sums.correct), options_.optimizer.lr * lr_factor()};
}

void ShardTrainer::initialise(std::span<float> weights) const {
  const std::span<const float> first = context_.first_weights(options_.seed);
  std::copy(first.begin(), first.end(), weights.begin());
}

void ShardTrainer::data_state(gossip::Archive& archive) {
  batches_.state(archive, steps_);
  archive("flipped", flipped_);
}

gossip::Probe ShardTrainer::probe(std::span<const float> weights, std::size_t worker) {
  if (batches_.probe().empty()) return {};
  const kernels::LossSums sums = pass_probe(weights, worker, nullptr);
  const double n = static_cast<double>(batches_.probe().size());
  return {sums.loss / n, sums.confidence / n, batches_.probe().size()};
}

std::vector<double> ShardTrainer::probe_losses(std::span<const float> weights, std::size_t worker) {
  std::vector<double> losses(batches_.probe().size());
  pass_probe(weights, worker, losses.data());
  return losses;
}

kernels::LossSums ShardTrainer::pass_probe(std::span<const float> weights, std::size_t worker,
                                           double* losses) {
  const std::span<const std::uint32_t> probe = batches_.probe();
  kernels::LossSums sums;
  for (std::size_t begin = 0; begin < probe.size(); begin += context_.max_batch()) {
    const std::size_t count = std::min(context_.max_batch(), probe.size() - begin);
    std::vector<std::uint8_t> labels(count);
    for (std::size_t row = 0; row < count; ++row) {
      context_.load_row(worker, row, shard_.image(probe[begin + row]));
      labels[row] = shard_.labels[probe[begin + row]];
    }
    double* here = losses == nullptr ? nullptr : losses + begin;
    add(sums, context_.workspace(worker).evaluate(count, weights.data(), labels.data(), here));
  }
  return sums;
}

}  // namespace hearsay::runtime
