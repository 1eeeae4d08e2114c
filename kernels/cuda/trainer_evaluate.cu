// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/cuda/trainer.cuh"

namespace hearsay::cuda {

// Chunk by chunk, sums added in order: the same numbers whatever else runs on the card. The memory
// is taken the first time.
void Trainer::evaluate(const float* weights, std::uint64_t first, std::size_t count,
                       const std::uint8_t* labels, HsCudaTrainSums* sums) {
  use();
  Evaluation& e = evaluation_;
  if (!e.pass) {
    e.weights = DeviceMemory<float>(stride_);
    e.step = DeviceMemory<SlotStep>(1);
    e.examples = DeviceMemory<std::uint64_t>(e.rows);
    e.labels = DeviceMemory<std::uint8_t>(e.rows);
    e.losses = DeviceMemory<LossRow>(e.rows);
    e.sums = DeviceMemory<HsCudaTrainSums>(1);
    e.pass =
        std::make_unique<NetworkPass>(cublas_.get(), layers_, PassShape{1, e.rows, stride_, false});
  }
  if (first + count > image_count_) throw CudaFault("an example is not on the GPU");
  const cudaStream_t stream = stream_.get();
  const auto to_gpu = [&](void* to, const void* from, std::size_t bytes) {
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copying to the GPU");
  };
  to_gpu(e.weights.data(), weights, size_ * sizeof(float));
  *sums = {0.0, 0.0, 0};
  std::vector<std::uint64_t> examples(e.rows);
  for (std::size_t done = 0; done < count; done += e.rows) {
    const std::size_t here = std::min(e.rows, count - done);
    const SlotStep step{static_cast<std::uint32_t>(here), 0, 0.0f, 0.0f, 0.0f};
    std::iota(examples.begin(), examples.end(), first + done);
    to_gpu(e.step.data(), &step, sizeof step);
    to_gpu(e.examples.data(), examples.data(), here * sizeof(std::uint64_t));
    to_gpu(e.labels.data(), labels + done, here);
    gather_inputs({0, 1}, inputs_of(e.rows), e.step.data(), e.examples.data(), e.pass->input(),
                  stream);
    e.pass->forward({0, 1}, e.weights.data(), stream);
    softmax_loss({0, 1}, e.rows, layers_.back().out, e.step.data(), e.pass->logits(),
                 e.labels.data(), nullptr, e.losses.data(), e.sums.data(), stream);
    HsCudaTrainSums part{};
    must(cudaGetLastError(), "an evaluation");
    must(cudaMemcpyAsync(&part, e.sums.data(), sizeof part, cudaMemcpyDeviceToHost, stream),
         "copying from the GPU");
    wait();
    sums->loss += part.loss;
    sums->confidence += part.confidence;
    sums->correct += part.correct;
  }
}

}  // namespace hearsay::cuda
