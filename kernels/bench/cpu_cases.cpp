// SPDX-License-Identifier: Apache-2.0
#include "kernels/bench/cpu_cases.hpp"

#include <cstring>
#include <memory>

#include "kernels/core/buffer.hpp"

namespace hearsay::kernels {
namespace {

KernelCase copy_case(std::size_t n, Workers& workers) {
  auto from = std::make_shared<Buffer<float>>(n), to = std::make_shared<Buffer<float>>(n);
  for (std::size_t i = 0; i < n; ++i) (*from)[i] = static_cast<float>(i % 1000);
  KernelCase copy;
  copy.bytes = 8.0 * static_cast<double>(n);
  copy.run = [=, &workers] {
    for_tiles(workers, n, 4096, [&](std::size_t begin, std::size_t end, std::size_t) {
      std::memcpy(to->data() + begin, from->data() + begin, (end - begin) * sizeof(float));
    });
  };
  copy.wrong = [=] {
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += (*to)[i] != (*from)[i];
    return wrong;
  };
  return copy;
}

}  // namespace

std::vector<CpuCaseMaker> cpu_cases() {
  std::vector<CpuCaseMaker> all{{"copy", copy_case}};
  for (const auto family :
       {cpu_merge_cases, cpu_ema_cases, cpu_delta_cases, cpu_select_cases, cpu_sparse_cases,
        cpu_quantise_cases, cpu_index_cases, cpu_sketch_cases, cpu_gram_cases}) {
    for (CpuCaseMaker& each : family()) all.push_back(std::move(each));
  }
  return all;
}

}  // namespace hearsay::kernels
