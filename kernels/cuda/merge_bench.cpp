// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>

#include "kernels/bench/cuda_cases.hpp"
#include "kernels/core/rng.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/merge_api.h"
#include "kernels/ops/merge_ops.hpp"

namespace hearsay::kernels {
namespace {

constexpr float kAlpha = 0.25f;

std::vector<float> random_values(std::size_t n, const char* purpose) {
  constexpr std::size_t kPeriod = 1 << 22;  // drawing more takes longer than the bench
  Rng rng = Rng::stream(11, purpose);
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = i < kPeriod ? static_cast<float>(rng.normal()) : -values[i - kPeriod + i % 7];
  }
  return values;
}

KernelCase blend_case(std::size_t n, void* stream) {
  const auto w = random_values(n, "w"), in = random_values(n, "in");
  auto d_w = std::make_shared<DeviceArray<float>>(w),
       d_in = std::make_shared<DeviceArray<float>>(in);
  KernelCase blend;
  blend.bytes = 12.0 * static_cast<double>(n);
  blend.run = [=] {
    must(hs_cuda_merge_blend(kAlpha, d_w->data(), d_in->data(), nullptr, n, stream), "blend");
  };
  blend.wrong = [=] {
    auto expected = random_values(n, "w");
    merge_blend(kAlpha, expected, random_values(n, "in"), {}, {});
    const auto got = d_w->host();
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i)
      wrong += std::memcmp(&got[i], &expected[i], sizeof(float)) != 0;
    return wrong;
  };
  return blend;
}

}  // namespace

std::vector<CudaCaseMaker> cuda_merge_cases() { return {{"blend fp32", blend_case}}; }

}  // namespace hearsay::kernels
