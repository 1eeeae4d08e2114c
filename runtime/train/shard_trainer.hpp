// SPDX-License-Identifier: Apache-2.0
// What training on a shard needs wherever the numbers are: the order of the data, the schedule, the
// probe set. NnTrainer computes on a CPU, DeviceTrainer on a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gossip/examples/holdings.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/examples/example_keeper.hpp"
#include "runtime/train/mini_batches.hpp"
#include "runtime/train/nn_context.hpp"
#include "runtime/train/optimizer.hpp"
#include "runtime/train/schedule.hpp"
#include "runtime/train/trainer.hpp"

namespace hearsay::runtime {

struct NnTrainerOptions {
  std::uint64_t seed = 0;
  std::uint32_t peer = 0;
  std::uint32_t batch = 32;
  std::uint32_t epochs = 1;  // horizon of the schedule
  std::uint64_t steps_per_epoch =
      0;  // 0: ceil(examples / batch); larger values begin a new pass in mid-epoch
  OptimizerOptions optimizer;
  ScheduleKind schedule = ScheduleKind::cosine;
  double probe_share = 0.0;                               // of the shard
  std::shared_ptr<const ExamplePlan> examples = nullptr;  // null: all count alike
  std::size_t all_examples = 0;                           // of the training set
};

class ShardStore;

class ShardTrainer : public Trainer {
 public:
  static constexpr std::uint32_t kNoExample = ~std::uint32_t{0};  // id of a row that is free

  ShardTrainer(NnContext& context, ImageSet shard, const NnTrainerOptions& options);
  ~ShardTrainer() override;

  gossip::Probe probe(std::span<const float> weights, std::size_t worker) override;
  std::vector<double> probe_losses(std::span<const float> weights, std::size_t worker) override;
  double doubt(std::span<const float> weights, std::size_t worker) override;
  void flip_labels(bool flipped) override { flipped_ = flipped; }
  void set_lr_factor(double factor) override { tuned_ = factor; }
  bool wants_models() const override { return keeper_ != nullptr; }
  void heard(kernels::PeerId from, std::span<const float> weights, std::size_t worker) override;
  std::vector<gossip::Event> take_events() override;
  gossip::ExampleStore* example_store(std::size_t worker) override;
  // The shard becomes what earlier starts of this peer have written down.
  void recollect(const gossip::Holdings& held, const ImageSet& train);
  bool passes_examples_on() const noexcept { return store_ != nullptr; }
  bool has_example(std::uint32_t row) const { return shard_.ids[row] != kNoExample; }
  const ExampleKeeper* examples_kept() const noexcept { return keeper_.get(); }
  std::uint64_t examples() const override { return batches_.examples(); }
  std::uint64_t steps_per_epoch() const override { return steps_per_epoch_; }
  const ImageSet& shard() const noexcept { return shard_; }

 protected:
  NnContext& context() { return context_; }
  const NnTrainerOptions& options() const { return options_; }
  std::uint8_t label_of(std::uint32_t example) const;
  double lr_factor() const;  // of the step that comes now
  gossip::StepReport report(std::size_t samples, const kernels::LossSums& sums) const;
  // The weights with which every peer of a run begins.
  void initialise(std::span<float> weights) const;
  void data_state(gossip::Archive& archive);
  // Before each mini-batch: at the end of a pass, what the next one holds.
  void begin_pass_if_due(std::size_t worker);

  MiniBatches batches_;
  std::uint64_t steps_ = 0;
  std::unique_ptr<ExampleKeeper> keeper_;  // null: all examples count alike
  // The mini-batch that is next, without examples that have left since its pass began.
  std::span<const std::uint32_t> next_batch();

 private:
  friend class ShardStore;

  void put(std::uint32_t row, std::uint32_t id, std::uint8_t label,
           std::span<const std::uint8_t> image);
  void drop(std::uint32_t row);
  std::vector<Look> looks_at(std::span<const std::uint32_t> rows, std::span<const float> weights,
                             double temperature, std::size_t worker);
  void look_at_arrivals(std::span<const std::uint32_t> rows, std::size_t worker);
  void tell_of_arrivals(std::size_t worker);
  void state_of_passed(gossip::Archive& archive);
  kernels::LossSums pass_probe(std::span<const float> weights, std::size_t worker, double* losses);
  // One forward pass over these rows; outputs[rows.size()][classes].
  std::vector<float> outputs_of(std::span<const std::uint32_t> rows, std::span<const float> weights,
                                std::size_t worker);
  // All examples under one model.
  void look_at_all(kernels::PeerId model, std::span<const float> weights, std::uint64_t passes,
                   std::size_t worker);

  NnContext& context_;
  ImageSet shard_;
  NnTrainerOptions options_;
  std::uint64_t steps_per_epoch_;
  std::unique_ptr<ShardStore> store_;  // null: examples stay where they are
  std::vector<std::uint32_t> batch_;   // of next_batch(), where some have left
  bool flipped_ = false;
  double tuned_ = 1.0;  // factor of the learning rate that the protocol has set
};

}  // namespace hearsay::runtime
