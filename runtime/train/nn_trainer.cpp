// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/nn_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hearsay::runtime {

NnTrainer::NnTrainer(NnContext& context, ImageSet shard, const NnTrainerOptions& options)
    : ShardTrainer(context, std::move(shard), options),
      weights_(context.model().layout().size()),
      optimizer_(options.optimizer, weights_.size()) {
  initialise(weights_.span());
}

gossip::StepReport NnTrainer::differentiate(std::size_t worker) {
  begin_pass_if_due(worker);
  const std::span<const std::uint32_t> batch = next_batch();
  batch_labels_.resize(batch.size());
  for (std::size_t row = 0; row < batch.size(); ++row) {
    context().load_row(worker, row, shard().image(batch[row]));
    batch_labels_[row] = label_of(batch[row]);
  }
  kernels::Workspace<float>& workspace = context().workspace(worker);
  if (!keeper_) {
    return report(batch.size(),
                  workspace.differentiate(batch.size(), weights_.data(), batch_labels_.data()));
  }
  const std::span<const float> all = keeper_->weights();
  batch_weights_.clear();
  for (const std::uint32_t row : batch) batch_weights_.push_back(all.empty() ? 1.0f : all[row]);
  const kernels::LossSums sums =
      workspace.differentiate(batch.size(), weights_.data(), batch_labels_.data(),
                              all.empty() ? nullptr : batch_weights_.data());
  keeper_->trained(batch, batch_labels_, workspace.outputs().first(batch.size() * shard().classes));
  return report(batch.size(), sums);
}

gossip::StepReport NnTrainer::train(std::size_t worker) {
  const gossip::StepReport report = differentiate(worker);
  // A loss that is not finite would spread into every weight; the protocol hears of it and stops
  // the peer.
  if (std::isfinite(report.loss)) {
    optimizer_.apply(weights_.span(), context().workspace(worker).gradient(), 1.0, lr_factor());
  }
  ++steps_;
  return report;
}

gossip::StepReport NnTrainer::train_gradient(std::size_t worker) {
  if (gradient_.size() == 0) gradient_ = kernels::Buffer<float>(weights_.size());
  const gossip::StepReport report = differentiate(worker);
  const auto gradient = context().workspace(worker).gradient();
  std::copy(gradient.begin(), gradient.end(), gradient_.data());
  return report;
}

void NnTrainer::apply_gradient(float scale) {
  optimizer_.apply(weights_.span(), gradient_.span(), scale, lr_factor());
  ++steps_;
}

void NnTrainer::state(gossip::Archive& archive) {
  data_state(archive);
  archive.array("gradient", gradient_);
  archive("optimizer", optimizer_);
}

void NnTrainer::skip_to(std::uint64_t steps) {
  steps_ = steps;
  optimizer_.reset();
}

}  // namespace hearsay::runtime
