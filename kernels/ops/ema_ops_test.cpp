// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/ema_ops.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/core/rng.hpp"
#include "kernels/ops/ema_math.hpp"
#include "kernels/ops/merge_test_data.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

// A value at a time, rounded by volatile, with nothing of the kernel's loops.
EmaResult naive(float alpha, std::vector<float>& w, const std::vector<float>& v) {
  EmaResult result;
  long double sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const volatile float difference = v[i] - w[i];
    const volatile float u = alpha * difference;
    const volatile float moved = w[i] + u;
    const float after = alpha == 0.0f ? w[i] : alpha == 1.0f ? v[i] : moved;
    if (!std::isfinite(u) || !std::isfinite(after)) {
      ++result.bad;
      continue;
    }
    sum += static_cast<long double>(u) * u;
    result.max_update = std::max(result.max_update, std::fabs(u));
    result.changed += std::memcmp(&after, &w[i], sizeof after) != 0;
    w[i] = after;
  }
  result.update_sq = static_cast<double>(sum);
  return result;
}

}  // namespace

TEST_CASE("an fp32 merge is three roundings a value, and its facts are those of the values") {
  const std::size_t n = GENERATE(from_range(kTestSizes));
  const float alpha = GENERATE(0.0f, 0.01f, 0.5f, 1.0f, -0.25f);
  CAPTURE(n, alpha);
  auto w = test_values(n, "w");
  auto v = test_values(n, "v");
  poison(w, 97);
  poison(v, 61);
  if (n > 20) w[20] = v[20] = -0.0f;
  auto expected = w;
  const EmaResult reference = naive(alpha, expected, v);
  OneWorker alone;
  const EmaResult result = ema(alpha, w, v, alone);
  CHECK(same_bits(w, expected));
  CHECK(result.update_sq == Approx(reference.update_sq).epsilon(1e-12));
  CHECK(result.max_update == reference.max_update);
  CHECK(result.bad == reference.bad);
  CHECK(result.changed == reference.changed);
  if (alpha == 0.0f) CHECK(result.changed == 0);
}

TEST_CASE("a merge does not depend on the number of workers") {
  auto w = test_values(1'000'003, "w");
  const auto v = test_values(w.size(), "v");
  auto other = w;
  OneWorker alone;
  FakeWorkers many(7);
  const EmaResult one = ema(0.3f, w, v, alone), seven = ema(0.3f, other, v, many);
  CHECK(same_bits(w, other));
  CHECK(std::memcmp(&one.update_sq, &seven.update_sq, sizeof(double)) == 0);
  CHECK((one.max_update == seven.max_update && one.changed == seven.changed));
}

TEST_CASE("a model merged with itself stays") {
  auto w = test_values(5'000, "w");
  const auto before = w;
  OneWorker alone;
  const EmaResult result = ema(0.5f, w, w, alone);
  CHECK(same_bits(w, before));
  CHECK((result.update_sq == 0.0 && result.max_update == 0.0f && result.changed == 0));
}

namespace {

// Values as the two types store them, merged one by one with the numbers of Philox.
template <typename W, typename V>
void check_types(EmaStore store, float alpha, std::size_t n, std::uint64_t first) {
  CAPTURE(static_cast<int>(store), alpha, n, first);
  auto w = stored_as<W>(test_values(n, "w"));
  const auto v = stored_as<V>(test_values(n, "v"));
  auto master = test_values(n, "master");
  auto expected = w;
  auto expected_master = master;
  std::uint64_t bad = 0, changed = 0;
  const EmaRule rule{type_of<W>(), type_of<V>(), store, 0x123456789abcdefull, 42};
  for (std::size_t i = 0; i < n; ++i) {
    const float from = store == EmaStore::master ? master[i] : widen(w[i]);
    const EmaStep step = ema_step(alpha, from, widen(v[i]), kMaxBitsOf<W>);
    bad += step.bad;
    expected_master[i] = step.w;
    if (step.bad != 0 || float_bits(step.w) == float_bits(from)) continue;
    const std::uint64_t index = first + i;
    const PhiloxBlock block = rounding_bits(index / 8, rule.seed, rule.merge_id);
    const std::uint32_t random = (block.word[index % 8 / 2] >> (16 * (index % 2))) & 0xffffu;
    expected[i] = rounded_to<W>(step.w, store == EmaStore::random, random);
    changed += !same_bits(std::vector{expected[i]}, std::vector{w[i]});
  }
  OneWorker alone;
  const EmaSpan span{w.data(), v.data(), store == EmaStore::master ? master.data() : nullptr,
                     n,        first,    alpha};
  const EmaResult result = ema({&span, 1}, rule, alone);
  CHECK(same_bits(w, expected));
  if (store == EmaStore::master) CHECK(same_bits(master, expected_master));
  CHECK(result.bad == bad);
  CHECK(result.changed == changed);
}

}  // namespace

TEST_CASE("16-bit types in any mix") {
  const float alpha = GENERATE(0.0f, 0.01f, 1.0f);
  const std::size_t n = GENERATE(0u, 7u, 1023u, 4097u, 9001u);
  const std::uint64_t first = GENERATE(0ull, 4096ull * 3 + 8, (1ull << 35) - 512);
  for (const EmaStore store : {EmaStore::random, EmaStore::nearest, EmaStore::master}) {
    check_types<Bf16, Bf16>(store, alpha, n, first);
    check_types<Bf16, float>(store, alpha, n, first);
    check_types<Bf16, Fp16>(store, alpha, n, first);
    check_types<Fp16, Fp16>(store, alpha, n, first);
    check_types<Fp16, Bf16>(store, alpha, n, first);
    check_types<Fp16, float>(store, alpha, n, first);
  }
  check_types<float, Bf16>(EmaStore::random, alpha, n, first);
  check_types<float, Fp16>(EmaStore::random, alpha, n, first);
}

TEST_CASE("small steps add up when stored at random and are lost when rounded to nearest") {
  constexpr std::size_t kValues = 4096;
  std::vector<Bf16> random(kValues, nearest(1.0f, Bf16{})), stuck = random;
  const std::vector<Bf16> v(kValues, nearest(1.5f, Bf16{}));
  OneWorker alone;
  for (std::uint64_t step = 0; step < 100; ++step) {
    EmaRule rule{ElementType::bf16, ElementType::bf16, EmaStore::random, 9, step};
    const EmaSpan span{random.data(), v.data(), nullptr, kValues, 0, 0.005f};
    ema({&span, 1}, rule, alone);
    rule.store = EmaStore::nearest;
    const EmaSpan other{stuck.data(), v.data(), nullptr, kValues, 0, 0.005f};
    CHECK(ema({&other, 1}, rule, alone).changed == 0);
  }
  double mean = 0.0;
  for (const Bf16 x : random) mean += static_cast<double>(widen(x)) / kValues;
  // 1.5 - 0.5 * 0.995^100 = 1.19711; a value wanders by about 0.03, their mean by 0.0005.
  CHECK(mean == Approx(1.19711).margin(0.003));
}

TEST_CASE("a value that the type of w cannot hold is left out") {
  std::vector<Fp16> w(3, nearest(60000.0f, Fp16{}));
  const std::vector<float> v = {65504.0f, 1e6f, std::numeric_limits<float>::infinity()};
  OneWorker alone;
  const EmaSpan span{w.data(), v.data(), nullptr, 3, 0, 1.0f};
  const EmaResult result = ema({&span, 1}, {ElementType::fp16, ElementType::fp32}, alone);
  CHECK(result.bad == 2);
  CHECK(widen(w[0]) == 65504.0f);
  CHECK((widen(w[1]) == 60000.0f && widen(w[2]) == 60000.0f));
}

TEST_CASE("a table of spans gives each what it gives alone, and their sum along the tree") {
  const std::vector<std::size_t> sizes = {5, 0, 4096, 10'000, 1, 0};
  FakeWorkers many(3);
  OneWorker alone;
  std::vector<std::vector<float>> w, v, expected;
  std::vector<EmaSpan> spans;
  double sum = 0.0;
  std::uint64_t changed = 0;
  float most = 0.0f;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    w.push_back(test_values(sizes[s], "w"));
    v.push_back(test_values(sizes[s], "v"));
  }
  expected = w;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const float alpha = 0.1f * static_cast<float>(s + 1);
    spans.push_back({w[s].data(), v[s].data(), nullptr, sizes[s], 16 * s, alpha});
    const EmaResult one = ema(alpha, expected[s], v[s], alone);
    sum += one.update_sq;
    changed += one.changed;
    most = std::max(most, one.max_update);
  }
  const EmaResult result = ema(spans, {}, many);
  for (std::size_t s = 0; s < sizes.size(); ++s) CHECK(same_bits(w[s], expected[s]));
  CHECK(result.update_sq == Approx(sum).epsilon(1e-13));
  CHECK((result.changed == changed && result.max_update == most));
  CHECK(ema(std::span<const EmaSpan>{}, {}, alone).update_sq == 0.0);
}
