// SPDX-License-Identifier: Apache-2.0
// Times by events on one stream. What takes less than a hundred microseconds runs several times
// between two events, so that launches overlap as they do in use; caches are as the last run left
// them, which counts below the size of the L2 cache.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>

#include "kernels/bench/cuda_cases.hpp"
#include "kernels/cuda/bench_api.h"
#include "kernels/cuda/device_array.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kSamples = 50, kWarmUps = 5;
constexpr double kShort_s = 1e-4;
constexpr int kShortRuns = 20;

struct Timer {
  explicit Timer(cudaStream_t on) : stream(on) {
    must(cudaEventCreate(&begin), "event");
    must(cudaEventCreate(&end), "event");
  }
  ~Timer() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }
  double seconds_of(const std::function<void()>& body, int runs) {
    must(cudaEventRecord(begin, stream), "event");
    for (int i = 0; i < runs; ++i) body();
    must(cudaEventRecord(end, stream), "event");
    must(cudaEventSynchronize(end), "a kernel");
    float ms = 0.0f;
    must(cudaEventElapsedTime(&ms, begin, end), "event");
    return 1e-3 * static_cast<double>(ms) / runs;
  }
  cudaStream_t stream;
  cudaEvent_t begin = nullptr, end = nullptr;
};

struct Wanted {
  const char* const* only;
  std::size_t count;
  bool operator()(const std::string& op) const {
    return count == 0 || std::any_of(only, only + count, [&](const char* part) {
             return op.find(part) != std::string::npos;
           });
  }
};

KernelRow measure(const CudaCaseMaker& maker, std::size_t n, cudaStream_t stream) {
  Timer timer(stream);
  const KernelCase each = maker.make(n, stream);
  KernelRow row{maker.op, n, each.bytes};
  if (each.reset) each.reset();
  each.run();
  must(cudaStreamSynchronize(stream), maker.op.c_str());
  row.wrong = each.wrong ? each.wrong() : 0;
  double once_s = 0.0;
  for (std::size_t i = 0; i < kWarmUps; ++i) {
    if (each.reset) each.reset();
    once_s = timer.seconds_of(each.run, 1);
  }
  const int runs = !each.reset && once_s < kShort_s ? kShortRuns : 1;
  std::vector<double> samples;
  for (std::size_t i = 0; i < kSamples; ++i) {
    if (each.reset) each.reset();
    samples.push_back(timer.seconds_of(each.run, runs));
  }
  std::sort(samples.begin(), samples.end());
  row.p50_s = samples[kSamples / 2];
  row.p99_s = samples.back();
  return row;
}

KernelCase copy_case(std::size_t n, void* stream) {
  auto from = std::make_shared<DeviceArray<float>>(n), to = std::make_shared<DeviceArray<float>>(n);
  KernelCase copy;
  copy.bytes = 8.0 * static_cast<double>(n);
  copy.run = [=] {
    must(cudaMemcpyAsync(to->data(), from->data(), n * sizeof(float), cudaMemcpyDeviceToDevice,
                         static_cast<cudaStream_t>(stream)),
         "copy");
  };
  return copy;
}

}  // namespace

std::vector<CudaCaseMaker> cuda_cases() {
  std::vector<CudaCaseMaker> all{{"copy", copy_case}};
  for (const auto family :
       {cuda_merge_cases, cuda_ema_cases, cuda_delta_cases, cuda_select_cases, cuda_sparse_cases,
        cuda_quantise_cases, cuda_index_cases, cuda_sketch_cases, cuda_gram_cases}) {
    for (CudaCaseMaker& each : family()) all.push_back(std::move(each));
  }
  return all;
}

}  // namespace hearsay::kernels

extern "C" int hs_cuda_bench(int device, const char* const* only, size_t only_count,
                             const size_t* sizes, size_t size_count,
                             void (*row)(void* user, const HsCudaBenchRow*), void* user,
                             char* error, size_t error_bytes) {
  using namespace hearsay::kernels;
  try {
    must(cudaSetDevice(device), "device");
    cudaStream_t stream = nullptr;
    must(cudaStreamCreate(&stream), "stream");
    const Wanted wanted{only, only_count};
    for (std::size_t s = 0; s < size_count; ++s) {
      double copy_rate = 0.0;
      for (const CudaCaseMaker& maker : cuda_cases()) {
        const bool is_copy = copy_rate == 0.0;  // the first
        if (!is_copy && !wanted(maker.op)) continue;
        const KernelRow m = measure(maker, sizes[s], stream);
        if (is_copy) copy_rate = m.bytes_per_s();
        const HsCudaBenchRow out{maker.op.c_str(), m.n,       m.bytes, m.p50_s,
                                 m.p99_s,          copy_rate, m.wrong};
        row(user, &out);
      }
    }
    must(cudaStreamDestroy(stream), "stream");
    return 0;
  } catch (const std::exception& problem) {
    std::snprintf(error, error_bytes, "%s", problem.what());
    return 1;
  }
}
