// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>

#include "kernels/bench/bench_values.hpp"
#include "kernels/bench/cpu_cases.hpp"
#include "kernels/ops/gram_ops.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kRows = 1024;

// BLAS has the threads that it has: the workers are not lent to it.
KernelCase gram_case(std::size_t n, Workers&) {
  const std::size_t p = n / kRows;
  auto x = std::make_shared<std::vector<float>>(bench_values(kRows * p, "gram"));
  auto k = std::make_shared<std::vector<double>>(kRows * kRows, -1.0);
  KernelCase each;
  each.bytes = 4.0 * static_cast<double>(x->size()) + 8.0 * static_cast<double>(k->size());
  each.run = [=] { gram(kRows, p, *x, *k); };
  each.wrong = [=] {
    std::uint64_t wrong = 0;
    for (std::size_t s = 0; s < 256; ++s) {
      const std::size_t i = s * 37 % kRows, j = s * 101 % kRows;
      double sum = 0.0, size = 0.0;
      for (std::size_t c = 0; c < p; ++c) {
        const auto term =
            static_cast<double>((*x)[i * p + c]) * static_cast<double>((*x)[j * p + c]);
        sum += term;
        size += std::fabs(term);
      }
      wrong += !(std::fabs((*k)[i * kRows + j] - sum) <= 1e-5 * size);
    }
    return wrong;
  };
  return each;
}

}  // namespace

std::vector<CpuCaseMaker> cpu_gram_cases() { return {{"gram 1024", gram_case}}; }

}  // namespace hearsay::kernels
