// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/shard_trainer.hpp"

#include <algorithm>
#include <utility>

#include "kernels/core/check.hpp"
#include "runtime/train/evaluate.hpp"
#include "runtime/train/shard_store.hpp"

namespace hearsay::runtime {

ShardTrainer::ShardTrainer(NnContext& context, ImageSet shard, const NnTrainerOptions& options)
    : batches_(options.seed, options.peer, options.batch, shard.count(), options.probe_share),
      context_(context),
      shard_(std::move(shard)),
      options_(options),
      steps_per_epoch_(options.steps_per_epoch > 0 ? options.steps_per_epoch
                                                   : batches_.steps_per_pass()) {
  HS_CHECK(options.batch <= context.max_batch());
  if (!options.examples) return;
  keeper_ =
      std::make_unique<ExampleKeeper>(options.examples, options.seed, kernels::PeerId(options.peer),
                                      shard_.count(), batches_.probe());
  batches_.expect_passes(shard_.count());
  if (!options.examples->passing) return;
  const gossip::ExampleShape shape{static_cast<std::uint32_t>(shard_.image_bytes()), shard_.classes,
                                   static_cast<std::uint32_t>(options.all_examples),
                                   options.examples->peers};
  store_ = std::make_unique<ShardStore>(*this, *options.examples->passing, shape);
}

ShardTrainer::~ShardTrainer() = default;

std::uint8_t ShardTrainer::label_of(std::uint32_t example) const {
  const std::uint8_t label = shard_.labels[example];
  return flipped_ ? static_cast<std::uint8_t>(shard_.classes - 1 - label) : label;
}

double ShardTrainer::lr_factor() const {
  return tuned_ * schedule_factor(options_.schedule, steps_, options_.epochs * steps_per_epoch_);
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
  if (keeper_) archive("examples", *keeper_);
  if (store_) state_of_passed(archive);
  if (keeper_ && archive.loading() && keeper_->ledger().rows() != shard_.count())
    archive.fail("examples", "are not as many as in this shard");
  batches_.state(archive, steps_);
  archive("flipped", flipped_);
  if (archive.loading()) tuned_ = 1.0;
  if (tuned_ != 1.0 || archive.has("tuned")) archive("tuned", tuned_);
  if (archive.loading() && !(tuned_ > 0.0 && tuned_ < 1e6))
    archive.fail("tuned", "is no factor of a learning rate");
}

void ShardTrainer::begin_pass_if_due(std::size_t worker) {
  if (!keeper_ || !batches_.pass_is_over()) return;
  const kernels::PeerId self(options_.peer);
  tell_of_arrivals(worker);
  if (keeper_->wants_own_look(batches_.passes()))
    look_at_all(self, read_weights(), batches_.passes(), worker);
  const std::uint64_t horizon = options_.epochs * steps_per_epoch_;
  const double progress =
      horizon > 0 ? std::min(1.0, static_cast<double>(steps_) / static_cast<double>(horizon)) : 1.0;
  batches_.begin_pass(keeper_->begin_pass(progress, batches_.steps_per_pass()));
}

// `passes` counts those begun: the one in progress is not over.
void ShardTrainer::heard(kernels::PeerId from, std::span<const float> weights, std::size_t worker) {
  const std::uint64_t over = std::max<std::uint64_t>(1, batches_.passes()) - 1;
  if (!keeper_) return;
  if (keeper_->wants_look_of(from, over)) look_at_all(from, weights, over, worker);
  if (store_) store_->heard(from, weights);
}

std::vector<gossip::Event> ShardTrainer::take_events() {
  return keeper_ ? keeper_->take_events() : std::vector<gossip::Event>{};
}

std::vector<float> ShardTrainer::outputs_of(std::span<const std::uint32_t> rows,
                                            std::span<const float> weights, std::size_t worker) {
  std::vector<float> all;
  all.reserve(rows.size() * shard_.classes);
  for (std::size_t begin = 0; begin < rows.size(); begin += context_.max_batch()) {
    const std::size_t count = std::min(context_.max_batch(), rows.size() - begin);
    for (std::size_t row = 0; row < count; ++row)
      context_.load_row(worker, row, shard_.image(rows[begin + row]));
    const std::span<const float> outputs =
        context_.workspace(worker).outputs(count, weights.data());
    all.insert(all.end(), outputs.begin(), outputs.end());
  }
  return all;
}

void ShardTrainer::look_at_all(kernels::PeerId model, std::span<const float> weights,
                               std::uint64_t passes, std::size_t worker) {
  std::vector<std::uint8_t> held_out;
  for (const std::uint32_t row : batches_.probe()) held_out.push_back(shard_.labels[row]);
  const double temperature =
      best_temperature(outputs_of(batches_.probe(), weights, worker), held_out);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < shard_.count(); ++row) {
    if (keeper_->present()[row] != 0) rows.push_back(row);
  }
  std::vector<Look> looks(shard_.count());
  const std::vector<Look> here = looks_at(rows, weights, temperature, worker);
  for (std::size_t i = 0; i < rows.size(); ++i) looks[rows[i]] = here[i];
  keeper_->judge(model, passes, temperature, looks, shard_.labels);
}

std::vector<Look> ShardTrainer::looks_at(std::span<const std::uint32_t> rows,
                                         std::span<const float> weights, double temperature,
                                         std::size_t worker) {
  const std::vector<float> outputs = outputs_of(rows, weights, worker);
  const std::size_t classes = shard_.classes;
  std::vector<Look> looks;
  looks.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::span<const float> of_row = std::span(outputs).subspan(i * classes, classes);
    looks.push_back(look_at(of_row, shard_.labels[rows[i]], temperature));
  }
  return looks;
}

gossip::Probe ShardTrainer::probe(std::span<const float> weights, std::size_t worker) {
  if (batches_.probe().empty()) return {};
  const kernels::LossSums sums = pass_probe(weights, worker, nullptr);
  const double n = static_cast<double>(batches_.probe().size());
  return {sums.loss / n, sums.confidence / n, batches_.probe().size()};
}

// Evenly spread over the shard, the same ones for every model.
double ShardTrainer::doubt(std::span<const float> weights, std::size_t worker) {
  constexpr std::size_t kMost = 256;
  const std::size_t stride = (shard_.count() + kMost - 1) / kMost;
  std::vector<std::uint32_t> rows;
  for (std::size_t row = 0; row < shard_.count(); row += stride)
    if (has_example(static_cast<std::uint32_t>(row)))
      rows.push_back(static_cast<std::uint32_t>(row));
  if (rows.empty()) return 1.0;
  double sum = 0.0;
  for (const Look& look : looks_at(rows, weights, 1.0, worker)) sum += 1.0 - look.confidence;
  return sum / static_cast<double>(rows.size());
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
