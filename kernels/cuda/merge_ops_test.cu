// SPDX-License-Identifier: Apache-2.0
// Exits 77 (skipped) without a device, 1 when a bit differs from the CPU.
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/cuda/cuda_api.h"
#include "kernels/ops/merge_ops.hpp"

namespace {

std::vector<float> random_values(size_t n, const char* purpose) {
  auto rng = hearsay::kernels::Rng::stream(7, purpose);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(rng.normal()) * (rng.below(50) == 0 ? 1e4f : 1.0f);
  return values;
}

struct DeviceCopy {
  explicit DeviceCopy(const std::vector<float>& host, size_t shift) {
    cudaMalloc(&memory, (host.size() + shift + 1) * sizeof(float));
    data = static_cast<float*>(memory) + shift;
    cudaMemcpy(data, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
  }
  ~DeviceCopy() { cudaFree(memory); }
  void* memory = nullptr;
  float* data = nullptr;
};

bool agrees(size_t n, float alpha, bool with_base, size_t shift) {
  auto w = random_values(n, "w");
  const auto in = random_values(n, "in"), base = random_values(n, "base");
  DeviceCopy d_w(w, shift), d_in(in, shift), d_base(base, shift);
  const int error = hs_cuda_merge_blend(alpha, d_w.data, d_in.data,
                                        with_base ? d_base.data : nullptr, n, nullptr);
  std::vector<float> result(n);
  cudaMemcpy(result.data(), d_w.data, n * sizeof(float), cudaMemcpyDeviceToHost);
  hearsay::kernels::merge_blend(
      alpha, w, in, with_base ? std::span<const float>(base) : std::span<const float>{}, {});
  const bool same = error == 0 && std::memcmp(result.data(), w.data(), n * sizeof(float)) == 0;
  if (!same)
    std::printf("differs: n %zu alpha %g base %d shift %zu error %d\n", n, alpha, with_base, shift,
                error);
  return same;
}

}  // namespace

int main() {
  int error = 0;
  if (hs_cuda_device_count(&error) == 0) {
    std::printf("skipped: no CUDA device (error %d)\n", error);
    return 77;
  }
  int failed = 0, cases = 0;
  for (const size_t n : {0, 1, 3, 4, 5, 31, 255, 256, 257, 4095, 4096, 4097, 1'000'003}) {
    for (const float alpha : {0.0f, 0.1f, 0.5f, 1.0f}) {
      for (const bool with_base : {false, true}) {
        for (const size_t shift : {0, 1, 2}) {
          failed += !agrees(n, alpha, with_base, shift);
          ++cases;
        }
      }
    }
  }
  std::printf("%d of %d cases agree bit for bit\n", cases - failed, cases);
  return failed == 0 ? 0 : 1;
}
