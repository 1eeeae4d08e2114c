// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/delta_ops.hpp"

#include <cmath>

#include "kernels/ops/merge_test_data.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

TEST_CASE("delta in every mode, a value at a time") {
  const std::size_t n = GENERATE(from_range(kTestSizes));
  const int momentum = GENERATE(0, 1, 2);
  const bool has_error = GENERATE(false, true), refresh = GENERATE(false, true);
  const bool in_place = GENERATE(false, true);
  CAPTURE(n, momentum, has_error, refresh, in_place);
  auto w = test_values(n, "w"), anchor = test_values(n, "anchor");
  auto m = test_values(n, "m", 0.1f), error = test_values(n, "error", 1e-3f);
  poison(w, 71);
  poison(error, 203);
  std::vector<float> out(n, -1.0f), expected_out(n);
  auto expected_m = m, expected_anchor = anchor;
  const float mu = 0.9f;
  std::uint64_t bad = 0;
  long double sum = 0;
  float most = 0.0f;
  std::vector<std::uint64_t> bins(kCoarseBins);
  for (std::size_t i = 0; i < n; ++i) {
    const volatile float d = w[i] - anchor[i], kept = mu * m[i], next = kept + d;
    const volatile float pushed = mu * next, nesterov = d + pushed;
    const float base = momentum == 0 ? d : momentum == 1 ? next : nesterov;
    const volatile float u = has_error ? base + error[i] : base;
    if (!std::isfinite(u)) {
      ++bad;
      ++bins[2040];
      continue;
    }
    expected_out[i] = u;
    if (momentum != 0) expected_m[i] = next;
    if (refresh) expected_anchor[i] = w[i];
    sum += static_cast<long double>(u) * u;
    most = std::max(most, std::fabs(u));
    int exponent = 0;
    const float mantissa = 2.0f * std::frexp(std::fabs(u), &exponent);  // 1 .. 2
    const bool is_normal = std::fabs(u) >= 0x1p-126f;
    ++bins[is_normal ? static_cast<std::size_t>((exponent + 126) * 8) +
                           static_cast<std::size_t>((mantissa - 1.0f) * 8.0f)
                     : static_cast<std::size_t>(std::ldexp(std::fabs(u), 129))];
  }
  FakeWorkers many(3);
  DeltaArrays arrays{w, anchor, {}, {}, in_place && has_error ? std::span(error) : std::span(out)};
  if (momentum != 0) arrays.momentum = m;
  if (has_error) arrays.error = error;
  const DeltaResult result = delta(arrays, {mu, momentum == 2, refresh}, many);
  CHECK(same_bits(in_place && has_error ? error : out, expected_out));
  CHECK(same_bits(m, expected_m));
  CHECK(same_bits(anchor, expected_anchor));
  CHECK(result.bad == bad);
  CHECK(result.max_update == most);
  CHECK(result.update_sq == Approx(static_cast<double>(sum)).epsilon(1e-12));
  CHECK(std::vector<std::uint64_t>(result.histogram.begin(), result.histogram.end()) == bins);
}

TEST_CASE("without out, only the facts are made") {
  auto w = test_values(10'000, "w"), anchor = test_values(10'000, "anchor");
  const auto before = anchor;
  std::vector<float> out(w.size());
  OneWorker alone;
  const DeltaResult facts = delta({w, anchor, {}, {}, {}}, {}, alone);
  const DeltaResult full = delta({w, anchor, {}, {}, out}, {}, alone);
  CHECK(same_bits(anchor, before));
  CHECK(same_bits(facts.update_sq, full.update_sq));
  CHECK(facts.histogram == full.histogram);
}
