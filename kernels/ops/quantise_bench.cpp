// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "kernels/bench/bench_values.hpp"
#include "kernels/bench/cpu_cases.hpp"
#include "kernels/core/buffer.hpp"
#include "kernels/ops/quantise_math.hpp"
#include "kernels/ops/quantise_ops.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kCut = 4096;

QuantiseSpec spec_of(std::uint32_t bits, std::uint32_t block, bool stochastic) {
  QuantiseSpec spec;
  spec.bits = bits;
  spec.block = block;
  spec.stochastic = stochastic;
  spec.bf16_scales = bits == 4;
  spec.seed = 77;
  return spec;
}

struct Arrays {
  Arrays(const QuantiseSpec& spec, std::size_t n)
      : x(bench_values(n, "quantise")), q(quantised_bytes(spec, n)), scales(scale_bytes(spec, n)) {}
  std::vector<float> x;
  Buffer<std::uint8_t> q, scales;
};

double traffic(const QuantiseSpec& spec, std::size_t n) {
  return 4.0 * static_cast<double>(n) + static_cast<double>(quantised_bytes(spec, n)) +
         static_cast<double>(scale_bytes(spec, n));
}

// Levels against the arithmetic of one value, all of them.
std::uint64_t wrong_levels(const QuantiseSpec& spec, const Arrays& a) {
  std::uint64_t wrong = 0;
  for (std::size_t begin = 0; begin < a.x.size(); begin += spec.block) {
    const std::size_t end = std::min<std::size_t>(a.x.size(), begin + spec.block);
    std::uint32_t most = 0;
    for (std::size_t i = begin; i < end; ++i) most = std::max(most, magnitude_bits(a.x[i]));
    const BlockScale by = block_scale(most, spec.bits == 8 ? 127.0f : 7.0f, spec.bf16_scales);
    for (std::size_t i = begin; i < end; ++i) {
      const PhiloxBlock words = quantise_words(i / 8, spec.stream, spec.seed);
      const std::int32_t level = quantised(
          a.x[i], by.multiplier, spec.stochastic ? quantise_offset(words, i) : kQuantiseHalf);
      const std::uint32_t got = spec.bits == 8 ? a.q[i] : (a.q[i / 2] >> (i % 2 * 4)) & 15u;
      wrong += got != (static_cast<std::uint32_t>(level) & (spec.bits == 8 ? 255u : 15u));
    }
  }
  return wrong;
}

KernelCase quantise_case(QuantiseSpec spec, std::size_t n, Workers& workers) {
  auto a = std::make_shared<Arrays>(spec, n);
  KernelCase each;
  each.bytes = traffic(spec, n);
  each.run = [=, &workers] {
    for_tiles(workers, n, kCut, [&](std::size_t begin, std::size_t end, std::size_t) {
      const std::size_t count = end - begin;
      quantise(spec, begin, std::span<const float>(a->x).subspan(begin, count),
               a->q.span().subspan(quantised_bytes(spec, begin), quantised_bytes(spec, count)),
               a->scales.span().subspan(scale_bytes(spec, begin), scale_bytes(spec, count)), {});
    });
  };
  each.wrong = [=] { return wrong_levels(spec, *a); };
  return each;
}

KernelCase dequantise_case(std::size_t n, Workers& workers) {
  const QuantiseSpec spec = spec_of(8, 64, true);
  auto a = std::make_shared<Arrays>(spec, n);
  auto y = std::make_shared<Buffer<float>>(n);
  quantise(spec, 0, a->x, a->q.span(), a->scales.span(), {});
  KernelCase each;
  each.bytes = traffic(spec, n);
  each.run = [=, &workers] {
    for_tiles(workers, n, kCut, [&](std::size_t begin, std::size_t end, std::size_t) {
      const std::size_t count = end - begin;
      dequantise(spec, a->q.span().subspan(begin, count),
                 a->scales.span().subspan(scale_bytes(spec, begin), scale_bytes(spec, count)),
                 y->span().subspan(begin, count));
    });
  };
  each.wrong = [=] {
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const float scale = reinterpret_cast<const float*>(a->scales.data())[i / spec.block];
      wrong += (*y)[i] != scale * static_cast<float>(static_cast<std::int8_t>(a->q[i]));
    }
    return wrong;
  };
  return each;
}

CpuCaseMaker maker(const char* op, const QuantiseSpec& spec) {
  return {op, [spec](std::size_t n, Workers& workers) { return quantise_case(spec, n, workers); }};
}

}  // namespace

std::vector<CpuCaseMaker> cpu_quantise_cases() {
  return {maker("int8 b64 sr", spec_of(8, 64, true)),
          maker("int8 b64 nearest", spec_of(8, 64, false)),
          maker("int4 b32 sr", spec_of(4, 32, true)),
          {"dequantise int8", dequantise_case}};
}

}  // namespace hearsay::kernels
