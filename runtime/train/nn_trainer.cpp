// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/nn_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/core/check.hpp"
#include "runtime/train/evaluate.hpp"

namespace hearsay::runtime {

NnTrainer::NnTrainer(NnContext& context, ImageSet shard, const NnTrainerOptions& options)
    : context_(context),
      shard_(std::move(shard)),
      options_(options),
      order_(shard_.count()),
      shuffle_(kernels::Rng::stream(options.seed, "order", options.peer)),
      weights_(context.model().layout().size()),
      optimizer_(options.optimizer, weights_.size()) {
  HS_CHECK(shard_.count() >= 1 && options.batch >= 1 && options.batch <= context.max_batch());
  std::iota(order_.begin(), order_.end(), 0u);
  const auto held_out =
      static_cast<std::size_t>(options.probe_share * static_cast<double>(shard_.count()));
  if (held_out > 0) {
    kernels::Rng rng = kernels::Rng::stream(options.seed, "probe", options.peer);
    rng.shuffle(order_);
    probe_.assign(order_.end() - static_cast<std::ptrdiff_t>(held_out), order_.end());
    order_.resize(order_.size() - held_out);
    std::sort(order_.begin(), order_.end());
  }
  const std::uint64_t own = (order_.size() + options.batch - 1) / options.batch;
  steps_per_epoch_ = options.steps_per_epoch > 0 ? options.steps_per_epoch : own;
  cursor_ = order_.size();
  kernels::Rng init =
      kernels::Rng::stream(options.seed, "init");  // no peer: all start from the same weights
  context.model().initialise(init, weights_.span());
}

std::size_t NnTrainer::load_batch(std::size_t worker) {
  if (cursor_ == order_.size()) {
    shuffle_.shuffle(order_);
    ++passes_;
    cursor_ = 0;
  }
  // Mini-batches of a pass differ by at most one example: a short last one would be the noisiest
  // step of the epoch.
  const std::size_t n = order_.size(), pass = (n + options_.batch - 1) / options_.batch;
  const std::size_t index = cursor_ * pass / n;  // the batch that begins here
  const std::size_t count = (n * (index + 1) + pass - 1) / pass - cursor_;
  batch_labels_.resize(count);
  for (std::size_t row = 0; row < count; ++row) {
    const std::uint32_t example = order_[cursor_ + row];
    context_.load_row(worker, row, shard_.image(example));
    const std::uint8_t label = shard_.labels[example];
    batch_labels_[row] = flipped_ ? static_cast<std::uint8_t>(shard_.classes - 1 - label) : label;
  }
  cursor_ += count;
  return count;
}

double NnTrainer::lr_factor() const {
  return schedule_factor(options_.schedule, steps_, options_.epochs * steps_per_epoch_);
}

gossip::StepReport NnTrainer::differentiate(std::size_t worker) {
  const std::size_t count = load_batch(worker);
  const kernels::LossSums sums =
      context_.workspace(worker).differentiate(count, weights_.data(), batch_labels_.data());
  return {static_cast<std::uint32_t>(count), sums.loss / static_cast<double>(count),
          static_cast<std::uint32_t>(sums.correct), options_.optimizer.lr * lr_factor()};
}

gossip::StepReport NnTrainer::train(std::size_t worker) {
  const gossip::StepReport report = differentiate(worker);
  // A loss that is not finite would spread into every weight; the protocol hears of it and stops
  // the peer.
  if (std::isfinite(report.loss)) {
    optimizer_.apply(weights_.span(), context_.workspace(worker).gradient(), 1.0, lr_factor());
  }
  ++steps_;
  return report;
}

gossip::StepReport NnTrainer::train_gradient(std::size_t worker) {
  if (gradient_.size() == 0) gradient_ = kernels::Buffer<float>(weights_.size());
  const gossip::StepReport report = differentiate(worker);
  const auto gradient = context_.workspace(worker).gradient();
  std::copy(gradient.begin(), gradient.end(), gradient_.data());
  return report;
}

void NnTrainer::apply_gradient(float scale) {
  optimizer_.apply(weights_.span(), gradient_.span(), scale, lr_factor());
  ++steps_;
}

// The order of a pass follows from the passes before it, so it is made again instead of kept:
// a shuffle a pass.
void NnTrainer::state(gossip::Archive& archive) {
  std::uint64_t passes = passes_, examples = order_.size();
  archive("passes", passes)("cursor", cursor_)("examples", examples)("steps", steps_);
  archive("flipped", flipped_);
  archive.array("gradient", gradient_);
  archive("optimizer", optimizer_);
  if (!archive.loading()) return;
  if (examples != order_.size()) archive.fail("examples", "another number than in this shard");
  if (cursor_ > order_.size() || passes > steps_ + 1) archive.fail("cursor", "is out of range");
  std::sort(order_.begin(), order_.end());
  shuffle_.seek(0);
  for (passes_ = 0; passes_ < passes; ++passes_) shuffle_.shuffle(order_);
}

void NnTrainer::skip_to(std::uint64_t steps) {
  steps_ = steps;
  optimizer_.reset();
}

gossip::Probe NnTrainer::probe(std::span<const float> weights, std::size_t worker) {
  if (probe_.empty()) return {};
  const kernels::LossSums sums = pass_probe(weights, worker, nullptr);
  const double n = static_cast<double>(probe_.size());
  return {sums.loss / n, sums.confidence / n, probe_.size()};
}

std::vector<double> NnTrainer::probe_losses(std::span<const float> weights, std::size_t worker) {
  std::vector<double> losses(probe_.size());
  pass_probe(weights, worker, losses.data());
  return losses;
}

kernels::LossSums NnTrainer::pass_probe(std::span<const float> weights, std::size_t worker,
                                        double* losses) {
  kernels::LossSums sums;
  for (std::size_t begin = 0; begin < probe_.size(); begin += context_.max_batch()) {
    const std::size_t count = std::min(context_.max_batch(), probe_.size() - begin);
    std::vector<std::uint8_t> labels(count);
    for (std::size_t row = 0; row < count; ++row) {
      context_.load_row(worker, row, shard_.image(probe_[begin + row]));
      labels[row] = shard_.labels[probe_[begin + row]];
    }
    double* here = losses == nullptr ? nullptr : losses + begin;
    add(sums, context_.workspace(worker).evaluate(count, weights.data(), labels.data(), here));
  }
  return sums;
}

}  // namespace hearsay::runtime
