// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>

#include "kernels/bench/bench_values.hpp"
#include "kernels/bench/cpu_cases.hpp"
#include "kernels/ops/sketch_ops.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::uint64_t kSeed = 99;

// One bucket by the definition, tile after tile.
float bucket_of(const SketchPlan& plan, std::span<const float> x, std::uint32_t row,
                std::uint32_t bucket) {
  const std::size_t m = plan.buckets;
  const std::uint32_t eights = plan.buckets / 8;
  double sum = 0.0;
  for (std::uint32_t chain = 0; chain < kSketchChains; ++chain) {
    float part = 0.0f;
    for (std::uint32_t k = 0; (std::size_t{k} * kSketchChains + chain) * m < x.size(); ++k) {
      const SketchPlace place =
          sketch_place(sketch_words(plan.seed, k, chain, 0, 0).word[0], eights);
      const std::size_t i = (std::size_t{k} * kSketchChains + chain) * m +
                            (bucket / 8 + eights - place.turn) % eights * 8 +
                            (bucket % 8 ^ place.swap);
      const std::uint32_t word =
          sketch_words(plan.seed, bucket / 4, chain, k / kSketchRun, 16 + row).word[bucket % 4];
      const float value = i < x.size() ? x[i] : 0.0f;
      part += sign_at(word, k) != 0 ? -value : value;
    }
    sum += static_cast<double>(part);
  }
  return static_cast<float>(sum);
}

KernelCase sketch_case(std::uint32_t rows, std::size_t n, Workers& workers) {
  const SketchPlan plan{16384, rows, kSeed};
  auto x = std::make_shared<std::vector<float>>(bench_values(n, "sketch"));
  auto y = std::make_shared<std::vector<float>>(sketch_values(plan), -1.0f);
  KernelCase each;
  each.bytes = 4.0 * static_cast<double>(n);
  each.run = [=, &workers] { sketch(plan, *x, *y, workers); };
  each.wrong = [=] {
    std::uint64_t wrong = 0;
    for (std::uint32_t j = 0; j < 64; ++j) {
      const std::uint32_t row = j % plan.rows, bucket = j * 257 % plan.buckets;
      wrong += (*y)[row * plan.buckets + bucket] != bucket_of(plan, *x, row, bucket);
    }
    return wrong;
  };
  return each;
}

// A kept coordinate as a signed sum, in double.
double coordinate_of(std::span<const float> x, std::uint32_t c) {
  double sum = 0.0;
  const std::uint32_t owner = ((c & 63) | (c >> 10 << 6)) << 4 | ((c >> 6) & 15);
  for (std::size_t block = 0; block * kSrhtBlock < x.size(); ++block) {
    const auto chain = static_cast<std::uint32_t>(block % kSketchChains);
    const auto visit = static_cast<std::uint32_t>(block / kSketchChains);
    double inside = 0.0;
    for (std::uint32_t i = 0; i < kSrhtBlock && block * kSrhtBlock + i < x.size(); ++i) {
      const std::uint32_t word = sketch_words(kSeed, i / 4, chain, visit / 32, 1).word[i % 4];
      const bool is_negative = (sign_at(word, visit) != 0) != (__builtin_parity(i & c) != 0);
      const auto value = static_cast<double>(x[block * kSrhtBlock + i]);
      inside += is_negative ? -value : value;
    }
    const std::uint32_t word = sketch_words(kSeed, owner / 4, chain, visit / 32, 2).word[owner % 4];
    sum += sign_at(word, visit) != 0 ? -inside : inside;
  }
  return sum;
}

KernelCase srht_case(std::size_t n, Workers& workers) {
  constexpr std::uint32_t kKept = 1024;
  auto x = std::make_shared<std::vector<float>>(bench_values(n, "srht"));
  auto y = std::make_shared<std::vector<float>>(kKept, -1.0f);
  KernelCase each;
  each.bytes = 4.0 * static_cast<double>(n);
  each.run = [=, &workers] { srht(kSeed, *x, *y, workers); };
  each.wrong = [=] {
    std::uint64_t wrong = 0;
    const auto kept = srht_coordinates(kSeed, kKept);
    double norm = 0.0;
    for (const float v : *x) norm += static_cast<double>(v) * static_cast<double>(v);
    for (const std::size_t j : {std::size_t{0}, std::size_t{511}}) {
      const double expected = coordinate_of(*x, kept[j]) / std::sqrt(static_cast<double>(kKept));
      wrong += !(std::fabs(static_cast<double>((*y)[j]) - expected) <= 1e-6 * std::sqrt(norm));
    }
    return wrong;
  };
  return each;
}

}  // namespace

std::vector<CpuCaseMaker> cpu_sketch_cases() {
  return {
      {"sketch 16384", [](std::size_t n, Workers& workers) { return sketch_case(1, n, workers); }},
      {"sketch 16384 x4",
       [](std::size_t n, Workers& workers) { return sketch_case(4, n, workers); }},
      {"srht 4096", srht_case}};
}

}  // namespace hearsay::kernels
