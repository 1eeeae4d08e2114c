// SPDX-License-Identifier: Apache-2.0
// Merges of a whole model across two GPUs beside a bare copy over the same way, every value
// checked.
//   cuda_peer_bench [VALUES]        1e9 unless said; exit 77 with one GPU, 1 when a value is wrong
// A merge: a snapshot on GPU 0 moves the weights on GPU 1 by alpha. Medians of 9, in turns.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/cuda/device_api.h"
#include "kernels/cuda/snapshot_api.h"
#include "kernels/ops/merge_ops.hpp"

namespace {

constexpr float kAlpha = 0.25f;
constexpr int kTurns = 9;
constexpr std::size_t kOut = 1000;

void must(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + ": " + hs_cuda_train_error());
}

double seconds_of(const auto& work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kTurns / 2, values.end());
  return values[kTurns / 2];
}

void settle() {
  for (const int device : {0, 1}) {
    must(cudaSetDevice(device), "choosing a GPU");
    must(cudaDeviceSynchronize(), "waiting for a GPU");
  }
}

// One dense layer of about that many values.
HsCudaTrainer* make_trainer(int device, std::size_t inputs) {
  HsCudaLayer layer{};
  layer.in = inputs;
  layer.out = kOut;
  layer.height = layer.width = layer.kernel = 1;
  const std::vector<float> scale(inputs, 1.0f), shift(inputs, 0.0f);
  HsCudaTrainPlan plan{};
  plan.layers = &layer;
  plan.layer_count = 1;
  plan.slots = 1;
  plan.max_batch = plan.chunk = 8;
  plan.optimizer = HS_CUDA_SGD;
  plan.scale = scale.data();
  plan.shift = shift.data();
  HsCudaTrainer* made = nullptr;
  must(hs_cuda_train_create(device, &plan, &made), "a trainer");
  return made;
}

int run(std::size_t values) {
  int error = 0;
  if (hs_cuda_device_count(&error) < 2) {
    std::puts("skipped: one GPU");
    return 77;
  }
  const std::size_t inputs = std::max<std::size_t>(1, values / kOut), n = inputs * kOut + kOut;
  HsCudaTrainer* const from = make_trainer(0, inputs);
  HsCudaTrainer* const to = make_trainer(1, inputs);
  std::vector<float> theirs(n), own(n), found(n);
  for (std::size_t i = 0; i < n; ++i) {
    theirs[i] = static_cast<float>(i % 8191) * 0x1p-10f - 3.0f;
    own[i] = 1.0f - static_cast<float>(i % 4093) * 0x1p-11f;
  }
  must(hs_cuda_train_put(from, 0, HS_CUDA_WEIGHTS, theirs.data()), "weights");
  void *a = nullptr, *b = nullptr;
  must(cudaSetDevice(0), "GPU 0");
  must(cudaMalloc(&a, n * sizeof(float)), "memory");
  must(cudaSetDevice(1), "GPU 1");
  must(cudaMalloc(&b, n * sizeof(float)), "memory");
  std::vector<double> copies, merges;
  std::size_t wrong = 0;
  for (int turn = -1; turn < kTurns; ++turn) {  // the first opens the way
    must(hs_cuda_train_put(to, 0, HS_CUDA_WEIGHTS, own.data()), "weights");
    HsCudaSnapshot* snapshot = nullptr;
    must(hs_cuda_snapshot_take(from, 0, 0, &snapshot), "a snapshot");
    settle();
    const double merge = seconds_of([&] {
      must(hs_cuda_slot_blend(to, 0, kAlpha, snapshot, nullptr, 0), "a merge");
      settle();
    });
    hs_cuda_snapshot_free(snapshot);
    const double copy = seconds_of([&] {
      must(cudaMemcpyPeerAsync(b, 1, a, 0, n * sizeof(float), nullptr), "a copy");
      settle();
    });
    if (turn >= 0) {
      merges.push_back(merge);
      copies.push_back(copy);
    }
  }
  must(hs_cuda_train_get(to, 0, HS_CUDA_WEIGHTS, found.data()), "weights");
  hearsay::kernels::merge_blend(kAlpha, own, theirs, {}, {});
  for (std::size_t i = 0; i < n; ++i) wrong += found[i] != own[i];
  const double bytes = static_cast<double>(n) * sizeof(float), copy = median(copies),
               merge = median(merges);
  std::printf(
      "%zu values: copy %.3f ms (%.1f GB/s), merge %.3f ms (%.1f %% of the copy's rate), wrong "
      "%zu\n",
      n, 1e3 * copy, 1e-9 * bytes / copy, 1e3 * merge, 100.0 * copy / merge, wrong);
  hs_cuda_train_destroy(to);
  hs_cuda_train_destroy(from);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(argc > 1 ? static_cast<std::size_t>(std::atof(argv[1])) : std::size_t{1'000'000'000});
} catch (const std::exception& error) {
  std::fprintf(stderr, "cuda_peer_bench: %s\n", error.what());
  return 2;
}
