// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>

#include "kernels/bench/bench_values.hpp"
#include "kernels/bench/cuda_cases.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/sketch_api.h"
#include "kernels/ops/sketch_ops.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::uint64_t kSeed = 99;

std::uint64_t differing(const std::vector<float>& a, const std::vector<float>& b) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) wrong += std::memcmp(&a[i], &b[i], sizeof(float)) != 0;
  return wrong;
}

KernelCase sketch_case(std::uint32_t rows, std::size_t n, void* stream) {
  const SketchPlan plan{16384, rows, kSeed};
  auto d_x = std::make_shared<DeviceArray<float>>(bench_values(n, "sketch"));
  auto d_y = std::make_shared<DeviceArray<float>>(sketch_values(plan));
  auto workspace =
      std::make_shared<DeviceArray<std::uint8_t>>(hs_cuda_sketch_workspace(plan.buckets, rows, n));
  KernelCase each;
  each.bytes = 4.0 * static_cast<double>(n);
  each.run = [=] {
    must(hs_cuda_sketch(plan.buckets, rows, kSeed, d_x->data(), n, workspace->data(), d_y->data(),
                        stream),
         "sketch");
  };
  each.wrong = [=] {
    std::vector<float> expected(sketch_values(plan));
    OneWorker worker;
    sketch(plan, bench_values(n, "sketch"), expected, worker);
    return differing(d_y->host(), expected);
  };
  return each;
}

KernelCase srht_case(std::size_t n, void* stream) {
  constexpr std::uint32_t kKept = 1024;
  auto d_x = std::make_shared<DeviceArray<float>>(bench_values(n, "srht"));
  auto d_y = std::make_shared<DeviceArray<float>>(kKept);
  auto d_kept = std::make_shared<DeviceArray<std::uint16_t>>(srht_coordinates(kSeed, kKept));
  auto workspace = std::make_shared<DeviceArray<std::uint8_t>>(hs_cuda_srht_workspace(n));
  KernelCase each;
  each.bytes = 4.0 * static_cast<double>(n);
  each.run = [=] {
    must(hs_cuda_srht(kSeed, d_kept->data(), kKept, d_x->data(), n, workspace->data(), d_y->data(),
                      stream),
         "srht");
  };
  each.wrong = [=] {
    std::vector<float> expected(kKept);
    OneWorker worker;
    srht(kSeed, bench_values(n, "srht"), expected, worker);
    return differing(d_y->host(), expected);
  };
  return each;
}

}  // namespace

std::vector<CudaCaseMaker> cuda_sketch_cases() {
  return {
      {"sketch 16384", [](std::size_t n, void* stream) { return sketch_case(1, n, stream); }},
      {"sketch 16384 x4", [](std::size_t n, void* stream) { return sketch_case(4, n, stream); }},
      {"srht 4096", srht_case}};
}

}  // namespace hearsay::kernels
