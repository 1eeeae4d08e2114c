// SPDX-License-Identifier: Apache-2.0
// The object behind train_api.h. A step is a fixed list of launches over a range of slots: over all
// of them it is recorded once and replayed as a CUDA graph; where less than half take part, only
// the range from the first to the last of them runs. Slots inside the range that sit out have zero
// inputs and are not updated.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <vector>

#include "kernels/cuda/handles.cuh"
#include "kernels/cuda/network_pass.cuh"
#include "kernels/cuda/slot_merger.cuh"
#include "kernels/cuda/train_kernels.cuh"

namespace hearsay::cuda {

struct CloseCublas {
  void operator()(cublasLtHandle_t handle) const noexcept { cublasLtDestroy(handle); }
};
using CublasHandle = std::unique_ptr<cublasLtContext, CloseCublas>;

class Trainer {
 public:
  Trainer(int device, const HsCudaTrainPlan& plan);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  std::uint64_t add_images(const std::uint8_t* pixels, std::size_t count);
  float* staging(std::size_t slot) const { return staging_.data() + slot * stride_; }
  void put(std::size_t slot, int what, const float* host);
  void get(std::size_t slot, int what, float* host);
  void begin(const HsCudaTrainJob* jobs, std::size_t count);
  void end(HsCudaTrainSums* sums);
  void apply(const HsCudaTrainJob& job, double scale, const float* gradient);
  void evaluate(const float* weights, std::uint64_t first, std::size_t count,
                const std::uint8_t* labels, HsCudaTrainSums* sums);
  double time(int what, std::size_t times);
  // Of the weights, on the stream that trains them: merges and steps happen in the order asked for.
  SlotMerger& merger() const { return *merger_; }

 private:
  // What an evaluation has on the device beside its pass.
  struct Evaluation {
    std::unique_ptr<NetworkPass> pass;
    std::size_t rows = 0;
    DeviceMemory<float> weights;
    DeviceMemory<SlotStep> step;
    DeviceMemory<std::uint64_t> examples;
    DeviceMemory<std::uint8_t> labels;
    DeviceMemory<LossRow> losses;
    DeviceMemory<HsCudaTrainSums> sums;
  };
  void read_layers(const HsCudaTrainPlan& plan);
  void use() const { must(cudaSetDevice(device_), "choosing the GPU"); }
  void wait() const { must(cudaStreamSynchronize(stream_.get()), "waiting for the GPU"); }
  InputPlan inputs_of(std::size_t rows) const {
    return {images_.data(), scale_.data(), shift_.data(), inputs_, rows};
  }
  void give_orders(const HsCudaTrainJob* jobs, std::size_t count);
  void launch(SlotRange range);
  void enqueue(SlotRange range);
  UpdateState update_state(bool looks_at_loss) const;
  float* memory_of(std::size_t slot, int what) const;

  int device_;
  Stream stream_, beside_;
  CublasHandle cublas_;
  std::vector<Layer> layers_;
  std::size_t slots_, max_batch_, inputs_ = 0, size_ = 0, stride_ = 0, tiles_ = 0;
  UpdateRule rule_;
  std::unique_ptr<NetworkPass> pass_;
  DeviceMemory<float> weights_, first_, second_, gradient_, scale_, shift_;
  DeviceMemory<double> partials_;
  DeviceMemory<LossRow> losses_;
  DeviceMemory<std::uint8_t> images_;
  std::size_t image_count_ = 0;
  PinnedMemory<float> staging_;
  // One step's orders, in one copy: SlotStep, then places of examples, then labels.
  std::size_t order_bytes_ = 0, examples_at_ = 0, labels_at_ = 0;
  PinnedMemory<std::uint8_t> orders_;
  DeviceMemory<std::uint8_t> d_orders_;
  PinnedMemory<HsCudaTrainSums> sums_;
  DeviceMemory<HsCudaTrainSums> d_sums_;
  cudaGraphExec_t graph_ = nullptr;  // of all slots
  bool was_warm_ = false;  // libraries load what they need in the first step, not in a graph
  std::vector<std::uint32_t> in_flight_;  // slots of the step that runs
  Evaluation evaluation_;
  std::unique_ptr<SlotMerger> merger_;
};

}  // namespace hearsay::cuda
