// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/peer_work.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/ops/gemm.hpp"
#include "runtime/data/describe.hpp"
#include "runtime/device/device_handover.hpp"
#include "runtime/device/device_model.hpp"
#include "runtime/host/build_codec.hpp"
#include "runtime/host/build_reduce.hpp"
#include "runtime/host/host_model.hpp"
#include "runtime/host/pool_result.hpp"
#include "runtime/train/nn_trainer.hpp"

namespace hearsay::runtime {
namespace {

// All peers of a synchronous protocol take as many mini-batches an epoch as the largest shard
// needs.
std::uint64_t most_steps(const Partition& partition, std::uint32_t batch) {
  std::size_t most = 0;
  for (const auto& owned : partition.owned) most = std::max(most, owned.size());
  return (most + batch - 1) / batch;
}

}  // namespace

PeerWork::PeerWork(const RunConfig& config, kernels::PeerId self, SnapshotPool snapshots)
    : config_(config),
      self_(self),
      device_(choose_device_of_peer(config.device, self.value)),
      snapshots_(std::move(snapshots)) {
  kernels::use_one_blas_thread();
  const PoolPlan plan = build_pool_plan(config);
  const OptimizerOptions optimizer = optimizer_after_sums(config);
  const ScheduleKind schedule = build_schedule(config.schedule);
  Dataset dataset = load_dataset(config.data, config.seed);
  partition_ = make_partition(config.split, dataset.train.labels, dataset.train.classes,
                              config.peers, config.seed);
  data_digest_ = dataset_digest(dataset);
  context_ = build_context(config.model, dataset.train, 1,
                           std::max<std::size_t>(config.batch, kEvaluationChunk));
  codec_ = build_pool_codec(config, layout(), context_->first_weights(config.seed));
  if (plan.communities) sketch_values_ = plan.communities->sketch_values();
  shard_examples_ = partition_.owned[self.value].size();
  const NnTrainerOptions options{config.seed,
                                 self.value,
                                 config.batch,
                                 config.epochs,
                                 plan.equal_steps ? most_steps(partition_, config.batch) : 0,
                                 optimizer,
                                 schedule,
                                 plan.probe_share(),
                                 plan.examples,
                                 dataset.train.count()};
  refuse_on_gpu(plan.examples.get(), device_.on_gpu());
  if (plan.examples && plan.examples->quarantine && partition_.noise_share > 0.0)
    wrong_labels_ = wrong_labels(dataset.train, partition_, config.seed);
  if (plan.examples && plan.examples->passing) {
    example_bytes_ = gossip::ExampleShape::kHeadBytes + dataset.train.image_bytes();
    train_ = std::make_unique<const ImageSet>(dataset.train);
    own_ids_ = partition_.owned[self.value];
    own_labels_ = shard_labels(dataset.train, partition_, self.value, config.seed);
  }
  if (!fits_on_gpu(device_, [&] { make_trainer(plan, dataset, options); })) {
    gpu_.reset();
    make_trainer(plan, dataset, options);
  }
  test_ = std::move(dataset.test);
  partition_.owned.clear();  // who owns what is 8 bytes an example
}

void PeerWork::make_trainer(const PoolPlan& plan, const Dataset& dataset,
                            const NnTrainerOptions& options) {
  ImageSet shard = make_shard(dataset.train, partition_, self_.value, config_.seed);
  if (device_.on_gpu()) {
    gpu_ = std::make_unique<DevicePool>(device_, *context_, 1, options.batch, options.optimizer);
    gpu_->keep_test_set(dataset.test);
    auto trainer = gpu_->make_trainer(*context_, std::move(shard), options, 0);
    model_ = std::make_unique<DeviceModel>(*trainer, snapshots_, 0, plan.gossips,
                                           DeviceModel::Snapshots::go_out);
    trainer_ = std::move(trainer);
  } else {
    trainer_ = std::make_unique<NnTrainer>(*context_, std::move(shard), options);
    model_ = std::make_unique<HostModel>(*trainer_, snapshots_, 0, plan.gossips);
  }
}

void PeerWork::take(const PeerPlace& place) {
  PoolPlan plan = build_pool_plan(config_);
  plan.codec = codec_;
  protocol_ = build_protocol(config_, plan, self_, trainer_->steps_per_epoch(), place);
}

bool PeerWork::recollect(std::span<const std::string> written) {
  if (!train_) return true;
  std::optional<std::size_t> bad;
  const gossip::Holdings held =
      gossip::read_holdings(own_ids_, own_labels_, written, config_.peers, &bad);
  trainer_->recollect(held, *train_);
  protocol_->recollect(held);
  return !bad;
}

ExampleTally PeerWork::tally() const {
  const ExampleKeeper* keeper = trainer_->examples_kept();
  if (keeper == nullptr) return {};
  return tally_of(*keeper, trainer_->shard().ids, wrong_labels_);
}

// Messages of a codec are made in host memory.
std::shared_ptr<Handover> PeerWork::make_handover() {
  if (!gpu_ || codec_) return nullptr;
  std::shared_ptr<Handover> made = DeviceHandover::make(gpu_->group_of(0).snapshots());
  if (made) dynamic_cast<DeviceModel&>(*model_).keep_on_device();
  return made;
}

Evaluation PeerWork::evaluate(std::span<const float> weights, std::size_t limit) {
  const auto label = [&](std::uint8_t l) {
    return rotated_label(partition_, self_.value, l, test_.classes);
  };
  if (gpu_) return gpu_->group_of(0).evaluate(weights, limit, label);
  const auto here = [](std::size_t count,
                       const std::function<void(std::size_t, std::size_t)>& body) {
    for (std::size_t i = 0; i < count; ++i) body(i, 0);
  };
  return runtime::evaluate(*context_, test_, weights, limit, label, here);
}

}  // namespace hearsay::runtime
