// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/cuda/trainer.cuh"

namespace hearsay::cuda {

void Trainer::make_evaluation() {
  EvaluationPass& pass = evaluation_;
  pass.chunk = chunk_;
  for (const Layer& layer : layers_) {
    pass.forward.push_back(std::make_unique<BatchedGemm>(
        handle_,
        GemmShape{false, true, chunk_, layer.out, layer.in, chunk_ * layer.in, stride_,
                  chunk_ * layer.out},
        sizeof(float)));
    pass.outputs.emplace_back(chunk_ * layer.out);
  }
  pass.weights = DeviceMemory<float>(stride_);
  pass.input = DeviceMemory<float>(chunk_ * widths_.front());
  pass.step = DeviceMemory<SlotStep>(1);
  pass.examples = DeviceMemory<std::uint64_t>(chunk_);
  pass.labels = DeviceMemory<std::uint8_t>(chunk_);
  pass.rows = DeviceMemory<LossRow>(chunk_);
  pass.sums = DeviceMemory<HsCudaTrainSums>(1);
}

// Chunk by chunk, sums added in order: the same numbers whatever else runs on the card.
void Trainer::evaluate(const float* weights, std::uint64_t first, std::size_t count,
                       const std::uint8_t* labels, HsCudaTrainSums* sums) {
  use();
  EvaluationPass& pass = evaluation_;
  const cudaStream_t stream = stream_.get();
  const auto to_gpu = [&](void* to, const void* from, std::size_t bytes) {
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copying to the GPU");
  };
  to_gpu(pass.weights.data(), weights, size_ * sizeof(float));
  *sums = {0.0, 0.0, 0};
  std::vector<std::uint64_t> examples(pass.chunk);
  for (std::size_t done = 0; done < count; done += pass.chunk) {
    const std::size_t here = std::min(pass.chunk, count - done);
    const SlotStep step{static_cast<std::uint32_t>(here), 0, 0.0f, 0.0f, 0.0f};
    std::iota(examples.begin(), examples.end(), first + done);
    to_gpu(pass.step.data(), &step, sizeof step);
    to_gpu(pass.examples.data(), examples.data(), here * sizeof(std::uint64_t));
    to_gpu(pass.labels.data(), labels + done, here);
    gather_inputs({0, 1}, {images_.data(), scale_.data(), shift_.data(), widths_.front(), pass.chunk},
                  pass.step.data(), pass.examples.data(), pass.input.data(), stream);
    const float* x = pass.input.data();
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      pass.forward[l]->run(0, 1, x, pass.weights.data() + layers_[l].weight, pass.outputs[l].data(),
                           stream);
      add_bias({0, 1}, pass.chunk, layers_[l].out, pass.weights.data() + layers_[l].bias, stride_,
               l + 1 < layers_.size(), pass.outputs[l].data(), stream);
      x = pass.outputs[l].data();
    }
    softmax_loss({0, 1}, pass.chunk, widths_.back(), pass.step.data(), x, pass.labels.data(), nullptr,
                 pass.rows.data(), pass.sums.data(), stream);
    HsCudaTrainSums part{};
    must(cudaGetLastError(), "an evaluation");
    must(cudaMemcpyAsync(&part, pass.sums.data(), sizeof part, cudaMemcpyDeviceToHost, stream),
         "copying from the GPU");
    wait();
    sums->loss += part.loss;
    sums->confidence += part.confidence;
    sums->correct += part.correct;
  }
}

}  // namespace hearsay::cuda
