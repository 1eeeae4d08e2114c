// SPDX-License-Identifier: Apache-2.0
// How long the device needs for a step, and for its matrix products alone: one CUDA graph of all
// slots, launched again and again between two events.
#include <memory>

#include "kernels/cuda/trainer.cuh"

namespace hearsay::cuda {
namespace {

struct CloseGraph {
  void operator()(cudaGraphExec_t graph) const noexcept { cudaGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraphExec_st, CloseGraph>;

// Takes times, unlike Event.
class Mark {
 public:
  Mark() { must(cudaEventCreate(&handle_), "event"); }
  ~Mark() { cudaEventDestroy(handle_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  void set(cudaStream_t stream) { must(cudaEventRecord(handle_, stream), "event"); }
  double seconds_since(const Mark& earlier) const {
    float ms = 0.0f;
    must(cudaEventElapsedTime(&ms, earlier.handle_, handle_), "event");
    return 1e-3 * static_cast<double>(ms);
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

template <typename Work>
Graph record(cudaStream_t stream, const Work& work) {
  cudaGraph_t recorded = nullptr;
  cudaGraphExec_t made = nullptr;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "CUDA graph");
  work();
  must(cudaStreamEndCapture(stream, &recorded), "CUDA graph");
  const cudaError_t error = cudaGraphInstantiate(&made, recorded, 0);
  cudaGraphDestroy(recorded);
  must(error, "CUDA graph");
  return Graph(made);
}

}  // namespace

double Trainer::time(int what, std::size_t times) {
  use();
  if (times < 1 || !was_warm_ || !in_flight_.empty() ||
      (what != HS_CUDA_TIME_STEP && what != HS_CUDA_TIME_PRODUCTS))
    throw CudaFault("times are taken of steps or products, after a step of all slots");
  const SlotRange all{0, static_cast<unsigned>(slots_)};
  const cudaStream_t stream = stream_.get();
  const Graph graph = record(stream, [&] {
    if (what == HS_CUDA_TIME_STEP)
      enqueue(all);
    else
      pass_->multiply(all, weights_.data(), gradient_.data(), stream, beside_.get());
  });
  Mark begin, end;
  must(cudaGraphLaunch(graph.get(), stream), "CUDA graph");  // the first one is sent to the device
  begin.set(stream);
  for (std::size_t i = 0; i < times; ++i) must(cudaGraphLaunch(graph.get(), stream), "CUDA graph");
  end.set(stream);
  wait();
  return end.seconds_since(begin) / static_cast<double>(times);
}

}  // namespace hearsay::cuda
