// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>

#include "kernels/bench/bench_values.hpp"
#include "kernels/bench/cuda_cases.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/gram_api.h"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kRows = 1024;

struct Handle {
  Handle() { must(hs_cuda_gram_open(&blas), "cuBLAS"); }
  ~Handle() { hs_cuda_gram_close(blas); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  void* blas = nullptr;
};

KernelCase gram_case(std::size_t n, void* stream) {
  const std::size_t p = n / kRows;
  auto x = std::make_shared<std::vector<float>>(bench_values(kRows * p, "gram"));
  auto d_x = std::make_shared<DeviceArray<float>>(*x);
  auto d_k = std::make_shared<DeviceArray<double>>(kRows * kRows);
  auto workspace = std::make_shared<DeviceArray<float>>(kRows * kRows);
  auto handle = std::make_shared<Handle>();
  KernelCase each;
  each.bytes = 4.0 * static_cast<double>(x->size()) + 8.0 * kRows * kRows;
  each.run = [=] {
    must(hs_cuda_gram(handle->blas, kRows, p, d_x->data(), workspace->data(), d_k->data(), stream),
         "gram");
  };
  each.wrong = [=] {
    std::uint64_t wrong = 0;
    const auto k = d_k->host();
    for (std::size_t s = 0; s < 256; ++s) {
      const std::size_t i = s * 37 % kRows, j = s * 101 % kRows;
      double sum = 0.0, size = 0.0;
      for (std::size_t c = 0; c < p; ++c) {
        const auto term =
            static_cast<double>((*x)[i * p + c]) * static_cast<double>((*x)[j * p + c]);
        sum += term;
        size += std::fabs(term);
      }
      wrong += !(std::fabs(k[i * kRows + j] - sum) <= 1e-5 * size);
    }
    return wrong;
  };
  return each;
}

}  // namespace

std::vector<CudaCaseMaker> cuda_gram_cases() { return {{"gram 1024", gram_case}}; }

}  // namespace hearsay::kernels
