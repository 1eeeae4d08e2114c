// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hearsay::runtime {

DeviceTrainer::DeviceTrainer(NnContext& context, ImageSet shard, const NnTrainerOptions& options,
                             DeviceGroup& group, std::size_t slot)
    : ShardTrainer(context, std::move(shard), options),
      group_(group),
      slot_(slot),
      first_example_(group.place_of_shard(slot, this->shard())),
      weights_(group.staging(slot)) {
  using Array = DeviceGroup::Array;
  const std::size_t n = weights_.size();
  if (options.optimizer.kind == OptimizerOptions::Kind::sgd) {
    moments_.push_back({Array::first, "momentum", kernels::Buffer<float>(n)});
  } else {
    moments_.push_back({Array::first, "first", kernels::Buffer<float>(n)});
    moments_.push_back({Array::second, "second", kernels::Buffer<float>(n)});
  }
  initialise(weights_);
}

std::size_t DeviceTrainer::slot_to_read() {
  if (newest_weights_ == Newest::host) {
    group_.put(slot_, DeviceGroup::Array::weights, weights_);
    newest_weights_ = Newest::both;
  }
  return slot_;
}

std::size_t DeviceTrainer::slot_to_change() {
  slot_to_read();
  newest_weights_ = Newest::device;
  return slot_;
}

void DeviceTrainer::send_changes() {
  slot_to_read();
  if (newest_moments_ != Newest::host) return;
  for (const Moment& moment : moments_) group_.put(slot_, moment.where, moment.host.span());
  newest_moments_ = Newest::both;
}

std::span<const float> DeviceTrainer::read_weights() {
  if (newest_weights_ == Newest::device) {
    group_.get(slot_, DeviceGroup::Array::weights, weights_);
    newest_weights_ = Newest::both;
  }
  return weights_;
}

std::span<float> DeviceTrainer::weights() {
  read_weights();
  newest_weights_ = Newest::host;
  return weights_;
}

std::vector<std::pair<std::string_view, std::span<float>>> DeviceTrainer::moments() {
  std::vector<std::pair<std::string_view, std::span<float>>> all;
  for (Moment& moment : moments_) {
    if (newest_moments_ == Newest::device) group_.get(slot_, moment.where, moment.host.span());
    all.emplace_back(moment.name, moment.host.span());
  }
  newest_moments_ = Newest::host;
  return all;
}

HsCudaTrainJob DeviceTrainer::rates(HsCudaTrainJob job) const {
  const OptimizerOptions& o = options().optimizer;
  const auto correction = [&](double beta) {
    return static_cast<float>(1.0 - std::pow(beta, static_cast<double>(updates_.count + 1)));
  };
  job.slot = static_cast<std::uint32_t>(slot_);
  job.lr = static_cast<float>(o.lr * lr_factor());
  job.correction1 = correction(o.beta1);
  job.correction2 = correction(o.beta2);
  return job;
}

HsCudaTrainJob DeviceTrainer::prepare(bool only_gradient) {
  send_changes();
  const std::span<const std::uint32_t> batch = batches_.next();
  examples_.resize(batch.size());
  labels_.resize(batch.size());
  for (std::size_t row = 0; row < batch.size(); ++row) {
    examples_[row] = first_example_ + batch[row];
    labels_[row] = label_of(batch[row]);
  }
  HsCudaTrainJob job{};
  job.batch = static_cast<std::uint32_t>(batch.size());
  job.examples = examples_.data();
  job.labels = labels_.data();
  job.only_gradient = only_gradient ? 1 : 0;
  only_gradient_ = only_gradient;
  return rates(job);
}

gossip::StepReport DeviceTrainer::finish(const HsCudaTrainSums& sums) {
  const gossip::StepReport made = report(
      examples_.size(), {sums.loss, sums.confidence, static_cast<std::size_t>(sums.correct)});
  if (only_gradient_) {
    if (gradient_.size() == 0) gradient_ = kernels::Buffer<float>(weights_.size());
    group_.get(slot_, DeviceGroup::Array::gradient, gradient_.span());
    return made;
  }
  if (std::isfinite(made.loss)) {  // else the GPU has left everything as it was
    ++updates_.count;
    newest_weights_ = newest_moments_ = Newest::device;
  }
  ++steps_;
  return made;
}

gossip::StepReport DeviceTrainer::train(std::size_t /*worker*/) {
  const HsCudaTrainJob job = prepare(false);
  group_.begin({&job, 1});
  return finish(group_.end().front());
}

gossip::StepReport DeviceTrainer::train_gradient(std::size_t /*worker*/) {
  const HsCudaTrainJob job = prepare(true);
  group_.begin({&job, 1});
  return finish(group_.end().front());
}

void DeviceTrainer::apply_gradient(float scale) {
  send_changes();
  group_.apply(rates({}), static_cast<double>(scale), gradient_.span());
  newest_weights_ = newest_moments_ = Newest::device;
  ++updates_.count;
  ++steps_;
}

void DeviceTrainer::state(gossip::Archive& archive) {
  data_state(archive);
  archive.array("gradient", gradient_);
  archive("optimizer", updates_);
}

void DeviceTrainer::skip_to(std::uint64_t steps) {
  steps_ = steps;
  updates_.count = 0;
  for (Moment& moment : moments_) std::fill_n(moment.host.data(), moment.host.size(), 0.0f);
  newest_moments_ = Newest::host;
}

}  // namespace hearsay::runtime
