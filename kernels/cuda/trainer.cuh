// SPDX-License-Identifier: Apache-2.0
// The object behind train_api.h. A step is a fixed list of launches over a range of slots: over all of
// them it is recorded once and replayed as a CUDA graph; where less than half take part, only the
// range from the first to the last of them runs. Slots inside the range that sit out have zero
// inputs and are not updated.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <vector>

#include "kernels/cuda/batched_gemm.cuh"
#include "kernels/cuda/handles.cuh"
#include "kernels/cuda/train_kernels.cuh"

namespace hearsay::cuda {

struct Layer {
  std::size_t in, out, weight, bias;  // offsets into a slot's parameters
  std::unique_ptr<BatchedGemm> forward, weight_gradient, input_gradient;
  DeviceMemory<float> output, delta;  // [slot][row][out]
};

// Forward passes of one model at a time, on a stream of its own.
struct EvaluationPass {
  std::size_t chunk = 0;
  std::vector<std::unique_ptr<BatchedGemm>> forward;
  std::vector<DeviceMemory<float>> outputs;
  DeviceMemory<float> weights, input;
  DeviceMemory<SlotStep> step;
  DeviceMemory<std::uint64_t> examples;
  DeviceMemory<std::uint8_t> labels;
  DeviceMemory<LossRow> rows;
  DeviceMemory<HsCudaTrainSums> sums;
};

class Trainer {
 public:
  Trainer(int device, const HsCudaTrainPlan& plan);
  ~Trainer();

  std::uint64_t add_images(const std::uint8_t* pixels, std::size_t count);
  float* staging(std::size_t slot) const { return staging_.data() + slot * stride_; }
  void put(std::size_t slot, int what, const float* host);
  void get(std::size_t slot, int what, float* host);
  void begin(const HsCudaTrainJob* jobs, std::size_t count);
  void end(HsCudaTrainSums* sums);
  void apply(const HsCudaTrainJob& job, double scale, const float* gradient);
  void evaluate(const float* weights, std::uint64_t first, std::size_t count,
                const std::uint8_t* labels, HsCudaTrainSums* sums);

 private:
  void make_layers(const HsCudaTrainPlan& plan);
  void make_evaluation();
  void use() const { must(cudaSetDevice(device_), "choosing the GPU"); }
  void wait() const { must(cudaStreamSynchronize(stream_.get()), "waiting for the GPU"); }
  void enqueue(SlotRange range);
  void enqueue_forward(SlotRange range);
  void enqueue_backward(SlotRange range);
  void launch(SlotRange range);
  UpdateState update_state(bool looks_at_loss) const;
  float* memory_of(std::size_t slot, int what) const;

  int device_;
  cublasLtHandle_t handle_ = nullptr;
  Stream stream_;
  std::vector<std::size_t> widths_;
  std::size_t slots_, max_batch_, chunk_, size_ = 0, stride_ = 0, tiles_ = 0;
  UpdateRule rule_;
  std::vector<Layer> layers_;
  DeviceMemory<float> weights_, first_, second_, gradient_, input_, scale_, shift_;
  DeviceMemory<double> partials_;
  DeviceMemory<LossRow> rows_;
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
  bool was_warm_ = false;            // libraries load what they need in the first step, not in a graph
  std::vector<std::uint32_t> in_flight_;  // slots of the step that runs
  EvaluationPass evaluation_;
};

}  // namespace hearsay::cuda
