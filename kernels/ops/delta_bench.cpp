// SPDX-License-Identifier: Apache-2.0
// Results are compared with the definition of the operator, a value at a time.
#include <cmath>
#include <memory>

#include "kernels/bench/cpu_cases.hpp"
#include "kernels/bench/merge_data.hpp"
#include "kernels/ops/delta_ops.hpp"
#include "kernels/ops/moving_average_ops.hpp"

namespace hearsay::kernels {
namespace {

constexpr float kMu = 0.9f, kBeta = 0.9f;

// Nearly all of a delta's histogram lies within a few powers of two, as in training.
KernelCase delta_case(std::size_t n, Workers& workers, bool has_momentum) {
  auto w = std::make_shared<std::vector<float>>(bench_values(n, "w"));
  auto anchor = std::make_shared<std::vector<float>>(bench_values(n, "anchor"));
  auto momentum = std::make_shared<std::vector<float>>();
  auto error = std::make_shared<std::vector<float>>(bench_values(n, "error", 0.01f));
  if (has_momentum) *momentum = bench_values(n, "momentum", 0.1f);
  auto result = std::make_shared<DeltaResult>();
  KernelCase each;
  each.bytes = (has_momentum ? 24.0 : 16.0) * static_cast<double>(n);
  each.run = [=, &workers] {
    *result = delta({*w, *anchor, *momentum, *error, *error}, {kMu, false, false}, workers);
  };
  each.wrong = [=] {
    auto u = bench_values(n, "error", 0.01f);
    auto m = has_momentum ? bench_values(n, "momentum", 0.1f) : std::vector<float>{};
    std::vector<std::uint64_t> bins(kCoarseBins);
    for (std::size_t i = 0; i < n; ++i) {
      float base = (*w)[i] - (*anchor)[i];
      if (has_momentum) {
        const float kept = kMu * m[i];
        base = m[i] = kept + base;
      }
      u[i] = base + u[i];
      ++bins[coarse_bin(u[i])];
    }
    std::uint64_t wrong = differences(*error, u) + differences(*momentum, m) + result->bad;
    for (std::size_t bin = 0; bin < bins.size(); ++bin)
      wrong += bins[bin] != result->histogram[bin];
    return wrong;
  };
  return each;
}

KernelCase moving_case(std::size_t n, Workers& workers) {
  auto ma = std::make_shared<std::vector<float>>(bench_values(n, "w"));
  for (float& x : *ma) x = std::fabs(x);
  auto g = std::make_shared<std::vector<float>>(bench_values(n, "v"));
  auto result = std::make_shared<MovingResult>();
  KernelCase each;
  each.bytes = 12.0 * static_cast<double>(n);
  each.run = [=, &workers] {
    MovingRule rule{kBeta};
    rule.keep = n / 100;
    rule.last_tau = result->tau;
    *result = moving_average(std::span(*ma), *g, {}, rule, workers);
  };
  each.wrong = [=] {
    auto expected = bench_values(n, "w");
    const float rest = 1.0f - kBeta;
    std::uint64_t kept = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const float old = kBeta * std::fabs(expected[i]), fresh = rest * std::fabs((*g)[i]);
      expected[i] = old + fresh;
      kept += expected[i] >= result->tau;
    }
    // The first threshold is that of a coarse bin: its rank may be 15 % off.
    const double rank = static_cast<double>(n / 100);
    const bool is_far = std::fabs(static_cast<double>(kept) - rank) > 0.15 * rank + 2.0;
    return differences(*ma, expected) + is_far + result->bad;
  };
  return each;
}

}  // namespace

std::vector<CpuCaseMaker> cpu_delta_cases() {
  return {{"delta+histogram", [](auto n, auto& workers) { return delta_case(n, workers, false); }},
          {"delta momentum", [](auto n, auto& workers) { return delta_case(n, workers, true); }},
          {"moving average", moving_case}};
}

}  // namespace hearsay::kernels
