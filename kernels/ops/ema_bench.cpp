// SPDX-License-Identifier: Apache-2.0
// Results are compared with the definition of the operator, a value at a time.
#include <cmath>
#include <memory>

#include "kernels/bench/cpu_cases.hpp"
#include "kernels/bench/merge_data.hpp"
#include "kernels/ops/ema_math.hpp"
#include "kernels/ops/ema_ops.hpp"
#include "kernels/ops/merge_ops.hpp"
#include "kernels/ops/vector_ops.hpp"

namespace hearsay::kernels {
namespace {

constexpr float kAlpha = 0.25f;

template <typename T>
constexpr ElementType kTypeOf = std::is_same_v<T, float>  ? ElementType::fp32
                                : std::is_same_v<T, Bf16> ? ElementType::bf16
                                                          : ElementType::fp16;

std::uint64_t is_far(double got, long double expected) {
  return std::fabs(static_cast<long double>(got) - expected) > 1e-10L * std::fabs(expected);
}

template <typename W, typename V, EmaStore kStore>
KernelCase ema_case(std::size_t n, Workers& workers) {
  constexpr bool kHasMaster = kStore == EmaStore::master;
  const EmaRule rule{kTypeOf<W>, kTypeOf<V>, kStore, 5, 6};
  auto w = std::make_shared<std::vector<W>>(bench_values<W>(n, "w"));
  auto v = std::make_shared<std::vector<V>>(bench_values<V>(n, "v"));
  auto master = std::make_shared<std::vector<float>>();
  if (kHasMaster) *master = bench_values(n, "w");
  auto result = std::make_shared<EmaResult>();
  KernelCase each;
  each.bytes = static_cast<double>(n) * (2 * sizeof(W) + sizeof(V) + (kHasMaster ? 8 : 0));
  each.run = [=, &workers] {
    const EmaSpan span{w->data(), v->data(), master->data(), n, 0, kAlpha};
    *result = ema({&span, 1}, rule, workers);
  };
  each.wrong = [=] {
    auto expected = bench_values<W>(n, "w");
    const auto before = kHasMaster ? bench_values(n, "w") : std::vector<float>{};
    long double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const float from = kHasMaster ? before[i] : widen(expected[i]);
      const EmaStep step = ema_step(kAlpha, from, widen((*v)[i]), kMaxBitsOf<W>);
      sum += static_cast<long double>(step.u) * step.u;
      if constexpr (sizeof(W) == 4) {
        expected[i] = step.w;
      } else if (float_bits(step.w) != float_bits(from)) {
        const PhiloxBlock block = rounding_bits(i / 8, rule.seed, rule.merge_id);
        const std::uint32_t random = (block.word[i % 8 / 2] >> (16 * (i % 2))) & 0xffffu;
        expected[i] = kHasMaster ? nearest(step.w, W{}) : at_random(step.w, random, W{});
      }
    }
    return differences(*w, expected) + is_far(result->update_sq, sum) + result->bad;
  };
  return each;
}

KernelCase stats_case(std::size_t n, Workers& workers) {
  auto w = std::make_shared<std::vector<float>>(bench_values(n, "w"));
  auto in = std::make_shared<std::vector<float>>(bench_values(n, "v"));
  auto result = std::make_shared<MergeStats>();
  KernelCase each;
  each.bytes = 8.0 * static_cast<double>(n);
  each.run = [=, &workers] { *result = merge_stats(*w, *in, {}, {}, workers); };
  each.wrong = [=] {
    long double moved = 0, weights = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const float d = (*in)[i] - (*w)[i];
      moved += static_cast<long double>(d) * d;
      weights += static_cast<long double>((*w)[i]) * (*w)[i];
    }
    return is_far(result->displacement_sq, moved) + is_far(result->weights_sq, weights) +
           result->bad;
  };
  return each;
}

KernelCase dot_case(std::size_t n, Workers& workers) {
  auto x = std::make_shared<std::vector<float>>(bench_values(n, "w"));
  auto y = std::make_shared<std::vector<float>>(*x);
  for (std::size_t i = 0; i < n; i += 3) (*y)[i] *= 0.5f;  // all products positive: no cancellation
  auto result = std::make_shared<double>();
  KernelCase each;
  each.bytes = 8.0 * static_cast<double>(n);
  each.run = [=, &workers] { *result = dot(*x, *y, workers); };
  each.wrong = [=] {
    long double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<long double>((*x)[i]) * (*y)[i];
    return is_far(*result, sum);
  };
  return each;
}

KernelCase axpy_case(std::size_t n, Workers& workers) {
  auto x = std::make_shared<std::vector<float>>(bench_values(n, "v"));
  auto y = std::make_shared<std::vector<float>>(bench_values(n, "w"));
  KernelCase each;
  each.bytes = 12.0 * static_cast<double>(n);
  each.run = [=, &workers] { axpy(kAlpha, *x, *y, workers); };
  each.wrong = [=] {
    auto expected = bench_values(n, "w");
    for (std::size_t i = 0; i < n; ++i) {
      const float product = kAlpha * (*x)[i];
      expected[i] += product;
    }
    return differences(*y, expected);
  };
  return each;
}

}  // namespace

std::vector<CpuCaseMaker> cpu_ema_cases() {
  return {{"ema fp32", ema_case<float, float, EmaStore::random>},
          {"ema fp32<-bf16", ema_case<float, Bf16, EmaStore::random>},
          {"ema bf16 sr", ema_case<Bf16, Bf16, EmaStore::random>},
          {"ema fp16 sr", ema_case<Fp16, Fp16, EmaStore::random>},
          {"ema bf16 master", ema_case<Bf16, Bf16, EmaStore::master>},
          {"stats fp32", stats_case},
          {"dot", dot_case},
          {"axpy", axpy_case}};
}

}  // namespace hearsay::kernels
