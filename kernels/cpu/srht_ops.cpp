// SPDX-License-Identifier: Apache-2.0
// The transform runs over the bits 0, 1, 10, 11, 2, ..., 9 of an index in this order, two at a
// time, which is the order that suits registers of a GPU; a block of 16 KiB stays in L1.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/core/check.hpp"
#include "kernels/cpu/chains.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/ops/sketch_ops.hpp"

namespace hearsay::kernels {
namespace {

// Butterflies over bits log2(kStep) and one more: indices i, i + kStep, i + 2 kStep, i + 3 kStep.
template <std::size_t kStep>
inline __attribute__((always_inline)) void two_stages(float* __restrict x) {
  for (std::size_t base = 0; base < kSrhtBlock; base += 4 * kStep) {
    for (std::size_t i = base; i < base + kStep; ++i) {
      const float a = x[i] + x[i + kStep], b = x[i] - x[i + kStep];
      const float c = x[i + 2 * kStep] + x[i + 3 * kStep];
      const float d = x[i + 2 * kStep] - x[i + 3 * kStep];
      x[i] = a + c;
      x[i + kStep] = b + d;
      x[i + 2 * kStep] = a - c;
      x[i + 3 * kStep] = b - d;
    }
  }
}

// sums += signs_out * H (signs_in * x): one block.
HS_CLONES void add_block(const float* __restrict x, const std::uint32_t* __restrict in,
                         const std::uint32_t* __restrict out, std::uint32_t visit,
                         float* __restrict work, float* __restrict sums) {
  const std::uint32_t shift = 31u - visit % kSketchRun;
  for (std::size_t i = 0; i < kSrhtBlock; ++i) {
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x[i]);
    work[i] = __builtin_bit_cast(float, bits ^ ((in[i] << shift) & 0x80000000u));
  }
  two_stages<1>(work);
  two_stages<1024>(work);
  two_stages<4>(work);
  two_stages<16>(work);
  two_stages<64>(work);
  two_stages<256>(work);
  for (std::size_t i = 0; i < kSrhtBlock; ++i) {
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, work[i]);
    sums[i] += __builtin_bit_cast(float, bits ^ ((out[i] << shift) & 0x80000000u));
  }
}

// Outgoing signs are dealt by the owner of a sum: its bits 6 to 9 come last.
std::size_t owner_order(std::size_t i) {
  return ((i & 63) | (i >> 10 << 6)) << 4 | ((i >> 6) & 15);
}

void draw_signs(std::uint64_t seed, std::uint32_t chain, std::uint32_t run, std::uint32_t* in,
                std::uint32_t* out) {
  std::uint32_t owned[kSrhtBlock];
  draw_words(seed, chain, run, static_cast<std::uint32_t>(SketchUse::srht_in), kSrhtBlock, in);
  draw_words(seed, chain, run, static_cast<std::uint32_t>(SketchUse::srht_out), kSrhtBlock, owned);
  for (std::size_t i = 0; i < kSrhtBlock; ++i) out[i] = owned[owner_order(i)];
}

void add_chain(std::uint64_t seed, std::span<const float> x, std::uint32_t chain, float* sums) {
  Buffer<std::uint32_t> in(kSrhtBlock), out(kSrhtBlock);
  Buffer<float> work(kSrhtBlock), last(kSrhtBlock);
  for (std::uint32_t visit = 0;; ++visit) {
    const std::size_t begin = (std::size_t{visit} * kSketchChains + chain) * kSrhtBlock;
    if (begin >= x.size()) return;
    if (visit % kSketchRun == 0) draw_signs(seed, chain, visit / kSketchRun, in.data(), out.data());
    const float* values = x.data() + begin;
    if (x.size() - begin < kSrhtBlock) {  // the last one, filled up with zeros
      std::copy(values, x.data() + x.size(), last.data());
      values = last.data();
    }
    add_block(values, in.data(), out.data(), visit, work.data(), sums);
  }
}

}  // namespace

std::vector<std::uint16_t> srht_coordinates(std::uint64_t seed, std::uint32_t kept) {
  HS_CHECK(kept <= kSrhtBlock);
  std::vector<std::uint16_t> all(kSrhtBlock);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  for (std::uint32_t i = 0; i < kept; ++i) {  // Fisher-Yates, as far as needed
    const PhiloxBlock block =
        sketch_words(seed, i, ~0u, 0, static_cast<std::uint32_t>(SketchUse::placement));
    const std::uint64_t left = kSrhtBlock - i;
    std::swap(all[i], all[i + ((block.word[0] * left) >> 32)]);
  }
  all.resize(kept);
  std::sort(all.begin(), all.end());
  return all;
}

void srht(std::uint64_t seed, std::span<const float> x, std::span<float> y, Workers& workers) {
  const auto kept = srht_coordinates(seed, static_cast<std::uint32_t>(y.size()));
  const std::size_t blocks = x.size() / kSrhtBlock + (x.size() % kSrhtBlock != 0);
  const auto sums = sum_of_chains(
      blocks, kSrhtBlock, workers,
      [&](std::uint32_t chain, std::span<float> part) { add_chain(seed, x, chain, part.data()); });
  const double scale = 1.0 / std::sqrt(static_cast<double>(kept.size()));
  for (std::size_t j = 0; j < kept.size(); ++j) y[j] = static_cast<float>(sums[kept[j]] * scale);
}

}  // namespace hearsay::kernels
