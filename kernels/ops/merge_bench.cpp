// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "kernels/bench/cpu_cases.hpp"
#include "kernels/core/buffer.hpp"
#include "kernels/core/rng.hpp"
#include "kernels/ops/merge_ops.hpp"

namespace hearsay::kernels {
namespace {

constexpr float kAlpha = 0.25f;

void fill(std::span<float> values, const char* purpose) {
  Rng rng = Rng::stream(11, purpose);
  for (float& v : values) v = static_cast<float>(rng.normal());
}

KernelCase blend_case(std::size_t n, Workers& workers) {
  auto start = std::make_shared<Buffer<float>>(n), w = std::make_shared<Buffer<float>>(n),
       in = std::make_shared<Buffer<float>>(n);
  fill(start->span(), "w");
  fill(in->span(), "in");
  std::copy_n(start->data(), n, w->data());
  KernelCase blend;
  blend.bytes = 12.0 * static_cast<double>(n);
  blend.run = [=, &workers] {
    for_tiles(workers, n, 4096, [&](std::size_t begin, std::size_t end, std::size_t) {
      merge_blend(kAlpha, w->span().subspan(begin, end - begin),
                  in->span().subspan(begin, end - begin), {}, {});
    });
  };
  blend.wrong = [=] {
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const float u = kAlpha * ((*in)[i] - (*start)[i]);
      wrong += (*w)[i] != (*start)[i] + u;
    }
    return wrong;
  };
  return blend;
}

}  // namespace

std::vector<CpuCaseMaker> cpu_merge_cases() { return {{"blend fp32", blend_case}}; }

}  // namespace hearsay::kernels
