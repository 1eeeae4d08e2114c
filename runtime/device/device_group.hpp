// SPDX-License-Identifier: Apache-2.0
// The models that one GPU trains as one batch: a slot each (kernels/cuda/train_api.h), with its
// images. One thread at a time. Errors of CUDA are Faults with one line; out of memory at the start
// is a NoRoomOnGpu.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/train_api.h"
#include "runtime/data/dataset.hpp"
#include "runtime/device/cuda_library.hpp"
#include "runtime/device/device_snapshots.hpp"
#include "runtime/train/evaluate.hpp"
#include "runtime/train/nn_context.hpp"
#include "runtime/train/optimizer.hpp"

namespace hearsay::runtime {

class DeviceGroup {
 public:
  DeviceGroup(int gpu, const NnContext& context, std::size_t slots, std::size_t batch,
              const OptimizerOptions& optimizer);

  // Where the slot's images begin on the device; they are sent there once.
  std::uint64_t place_of_shard(std::size_t slot, const ImageSet& shard);
  // Page-locked memory for the slot's weights.
  std::span<float> staging(std::size_t slot) const;

  enum class Array : int {
    weights = HS_CUDA_WEIGHTS,
    first = HS_CUDA_FIRST,
    second = HS_CUDA_SECOND,
    gradient = HS_CUDA_GRADIENT
  };
  void put(std::size_t slot, Array what, std::span<const float> host);
  void get(std::size_t slot, Array what, std::span<float> host);

  // For merges of the slots' weights where they are.
  const DeviceSnapshots& snapshots() const { return *snapshots_; }

  // One mini-batch of each job's slot, slots rising. begin() queues it, end() waits.
  void begin(std::span<const HsCudaTrainJob> jobs);
  std::vector<HsCudaTrainSums> end();
  void apply(const HsCudaTrainJob& job, double scale, std::span<const float> gradient);

  // For benches: seconds of the GPU for a step like the last one, of all slots, or for its matrix
  // products alone; mean of `times` behind each other. Steps so repeated change the weights.
  enum class Timed : int { step = HS_CUDA_TIME_STEP, products = HS_CUDA_TIME_PRODUCTS };
  double seconds_of(Timed what, std::size_t times);

  // Loss and accuracy of weights on the first `limit` images (0: all) of the test set.
  void keep_test_set(const ImageSet& test);
  Evaluation evaluate(std::span<const float> weights, std::size_t limit,
                      const std::function<std::uint8_t(std::uint8_t)>& label);

 private:
  void check(int error) const;
  void check_start(int error) const;  // before the first step: nothing was trained

  struct Calls {  // of the library
    decltype(&hs_cuda_train_create) create;
    decltype(&hs_cuda_train_destroy) destroy;
    decltype(&hs_cuda_train_error) error;
    decltype(&hs_cuda_train_add_images) add_images;
    decltype(&hs_cuda_train_staging) staging;
    decltype(&hs_cuda_train_put) put;
    decltype(&hs_cuda_train_get) get;
    decltype(&hs_cuda_train_begin) begin;
    decltype(&hs_cuda_train_end) end;
    decltype(&hs_cuda_train_apply) apply;
    decltype(&hs_cuda_train_evaluate) evaluate;
    decltype(&hs_cuda_train_time) time;
  };
  static Calls find_calls();

  Calls calls_;
  int gpu_;
  std::size_t parameters_, jobs_in_flight_ = 0;
  std::unique_ptr<HsCudaTrainer, void (*)(HsCudaTrainer*)> trainer_;
  std::unique_ptr<DeviceSnapshots> snapshots_;
  std::vector<std::uint64_t> shard_places_;  // by slot; kNowhere: not yet sent
  std::vector<std::uint8_t> test_labels_;
  std::uint64_t test_place_ = 0;
};

}  // namespace hearsay::runtime
