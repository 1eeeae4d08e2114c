// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/select_ops.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

class Turns final : public Workers {  // parts one after the other, the last first
 public:
  explicit Turns(std::size_t count) : count_(count) {}
  std::size_t count() const override { return count_; }
  void run(const std::function<void(std::size_t)>& body) override {
    for (std::size_t part = count_; part-- > 0;) body(part);
  }

 private:
  std::size_t count_;
};

struct Entries {
  explicit Entries(std::size_t n, std::size_t capacity)
      : index(capacity, 0xa5a5a5a5u),
        value(capacity, -7.0f),
        tile_begin((n + 65'535) / 65'536 + 1) {}
  SelectOut out() { return {index, value, tile_begin}; }
  std::vector<std::uint32_t> index;
  std::vector<float> value;
  std::vector<std::uint64_t> tile_begin;
};

std::uint32_t key_of(float u) { return std::bit_cast<std::uint32_t>(u) & 0x7fffffffu; }

// By sorting all positions.
std::vector<std::uint32_t> largest(const std::vector<float>& u, std::size_t k) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < u.size(); ++i) {
    if (std::isfinite(u[i]) && u[i] != 0.0f) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::fabs(u[a]) > std::fabs(u[b]);
  });
  order.resize(std::min(k, order.size()));
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<float> values_of(const std::string& kind, std::size_t n) {
  Rng rng = Rng::stream(5, kind);
  std::vector<float> u(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float normal = static_cast<float>(rng.normal());
    if (kind == "normal") u[i] = rng.below(40) == 0 ? normal * 1e3f : normal;
    if (kind == "equal") u[i] = 0.5f;
    if (kind == "two") u[i] = rng.below(10) == 0 ? -2.0f : 0.25f;
    if (kind == "denormal")
      u[i] = std::bit_cast<float>(static_cast<std::uint32_t>(rng.below(2000)));
    if (kind == "zeros") u[i] = rng.below(3000) == 0 ? normal : (i % 2 == 0 ? 0.0f : -0.0f);
    if (kind == "hot end") u[i] = i + 100 > n ? normal * 1e20f : normal * 1e-20f;
    if (kind == "rising") u[i] = static_cast<float>(i);
    if (kind == "special") {
      constexpr float kInf = std::numeric_limits<float>::infinity();
      constexpr float kSpecial[] = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), 3.4e38f,
                                    std::numeric_limits<float>::signaling_NaN()};
      u[i] = rng.below(20) == 0 ? kSpecial[rng.below(5)] : normal;
    }
  }
  return u;
}

const std::vector<std::string> kKinds = {"normal", "equal",   "two",    "denormal",
                                         "zeros",  "hot end", "rising", "special"};

void check_entries(const std::vector<std::uint32_t>& expected, const Entries& got, std::size_t n) {
  REQUIRE(got.tile_begin.front() == 0);
  REQUIRE(got.tile_begin.back() == expected.size());
  REQUIRE(std::equal(expected.begin(), expected.end(), got.index.begin()));
  for (std::size_t t = 0; t < got.tile_begin.size(); ++t) {
    const auto at = std::lower_bound(expected.begin(), expected.end(), t * 65'536);
    REQUIRE(got.tile_begin[t] == static_cast<std::uint64_t>(at - expected.begin()));
  }
  REQUIRE(std::count_if(expected.begin(), expected.end(), [&](auto i) { return i >= n; }) == 0);
}

}  // namespace

TEST_CASE("the largest magnitudes come in ascending order, ties to the smallest index") {
  const std::size_t n =
      GENERATE(0u, 1u, 2u, 7u, 31u, 4095u, 4096u, 4097u, 65'535u, 65'537u, 300'001u);
  const std::string kind = GENERATE(from_range(kKinds));
  const auto u = values_of(kind, n);
  for (const std::size_t k :
       {std::size_t{0}, std::size_t{1}, n / 1000, n / 100, n / 10, n - n / 10, n, n + 1}) {
    const auto expected = largest(u, k);
    for (const std::size_t threads : {1u, 3u}) {
      for (const std::uint32_t prior : {0u, 0x3f000000u, 0x7f000000u}) {
        CAPTURE(n, kind, k, threads, prior);
        Turns workers(threads);
        auto left = u;
        Entries got(n, std::min(k, n));
        const bool is_cleared = threads == 3;
        SelectFrom from{left};
        from.is_cleared = is_cleared;
        const Selected selected = select_largest(workers, from, k, prior, got.out());
        REQUIRE(selected.count == expected.size());
        check_entries(expected, got, n);
        auto rest = u;
        std::uint32_t tau = 0xffffffffu;
        std::size_t wrong = 0;
        for (std::size_t j = 0; j < expected.size(); ++j) {
          wrong += key_of(got.value[j]) != key_of(u[expected[j]]);
          tau = std::min(tau, key_of(got.value[j]));
          if (is_cleared) rest[expected[j]] = 0.0f;
        }
        REQUIRE(wrong == 0);
        if (!expected.empty()) REQUIRE(selected.tau_key == tau);
        REQUIRE((n == 0 || std::memcmp(rest.data(), left.data(), n * sizeof(float)) == 0));
        REQUIRE(selected.bad ==
                static_cast<std::uint64_t>(
                    std::count_if(u.begin(), u.end(), [](float x) { return !std::isfinite(x); })));
      }
    }
  }
}

TEST_CASE("of bf16 arrays the same is selected as of the fp32 values that they hold") {
  const std::size_t n = GENERATE(0u, 1u, 7u, 33u, 4095u, 4097u, 65'535u, 65'537u, 300'001u);
  const std::string kind = GENERATE(from_range(kKinds));
  std::vector<Bf16> w(n);
  std::vector<float> wide(n);
  const auto u = values_of(kind, n);
  for (std::size_t i = 0; i < n; ++i) {
    w[i] = nearest(u[i], Bf16{});
    wide[i] = widen(w[i]);
  }
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}, n / 100, n / 3, n, n + 1}) {
    const auto expected = largest(wide, k);
    for (const std::uint32_t prior : {0u, 0x3f000000u, 0x7f000000u}) {
      CAPTURE(n, kind, k, prior);
      Turns workers(3);
      auto left = w;
      Entries got(n, std::min(k, n));
      SelectFromBf16 from{left};
      from.is_cleared = true;
      const Selected selected = select_largest(workers, from, k, prior, got.out());
      REQUIRE(selected.count == expected.size());
      check_entries(expected, got, n);
      auto rest = w;
      std::size_t wrong = 0;
      for (std::size_t j = 0; j < expected.size(); ++j) {
        wrong += got.value[j] != wide[expected[j]];
        rest[expected[j]] = Bf16{0};
      }
      REQUIRE(wrong == 0);
      REQUIRE((n == 0 || std::memcmp(rest.data(), left.data(), n * sizeof(Bf16)) == 0));
      REQUIRE(selected.bad ==
              static_cast<std::uint64_t>(std::count_if(wide.begin(), wide.end(),
                                                       [](float x) { return !std::isfinite(x); })));
    }
  }
}

TEST_CASE("ties of bf16 at the threshold go to the smallest indices") {
  const std::size_t n = 200'000, k = 5'000;  // 1, 0.5 and 0.25 in turns: every key is a tie
  std::vector<Bf16> w(n);
  for (std::size_t i = 0; i < n; ++i)
    w[i] = nearest(i % 100 == 0 ? 1.0f : i % 2 == 0 ? -0.5f : 0.25f, Bf16{});
  Turns workers(3);
  Entries got(n, k);
  const Selected selected = select_largest(workers, SelectFromBf16{w}, k, 0, got.out());
  REQUIRE(selected.count == k);
  CHECK(selected.tau_key == key_of(0.5f));
  // All 2000 ones, and the first 3000 of the halves.
  CHECK(std::count(got.value.begin(), got.value.end(), 1.0f) == 2000);
  const auto last = std::find(got.value.rbegin(), got.value.rend(), -0.5f);
  const auto at = static_cast<std::size_t>(got.value.rend() - last) - 1;
  const std::size_t before = got.index[at];
  std::size_t halves = 0;
  for (std::size_t i = 0; i <= before; ++i) halves += widen(w[i]) == -0.5f;
  CHECK(halves == 3000);
}

TEST_CASE("what bf16 cannot publish stays in the difference") {
  const std::size_t n = 100'003, k = 1000;
  for (const PublishKind kind : {PublishKind::kDelta, PublishKind::kAbsolute}) {
    const auto weights = values_of("normal", n), start = values_of("special", n);
    std::vector<Bf16> w(n), published(n);
    std::vector<float> u(n);
    for (std::size_t i = 0; i < n; ++i) {
      w[i] = nearest(weights[i], Bf16{});
      published[i] = nearest(start[i], Bf16{});
      u[i] = widen(w[i]) - widen(published[i]);
    }
    const auto before = published;
    const auto expected = largest(u, k);
    Turns workers(2);
    Entries got(n, k);
    const SelectFromBf16 from{w, published, kind};
    REQUIRE(select_largest(workers, from, k, 0, got.out()).count == k);
    check_entries(expected, got, n);
    auto after = before;
    std::size_t wrong = 0;
    for (std::size_t j = 0; j < k; ++j) {
      const std::uint32_t i = expected[j];
      const bool is_delta = kind == PublishKind::kDelta;
      wrong += got.value[j] != (is_delta ? u[i] : widen(w[i]));
      after[i] = is_delta ? nearest(widen(before[i]) + u[i], Bf16{}) : w[i];
    }
    CHECK(wrong == 0);
    CHECK(std::memcmp(after.data(), published.data(), n * sizeof(Bf16)) == 0);
  }
  // A threshold with little room: what does not fit is neither written nor published.
  std::vector<Bf16> w(10, nearest(2.0f, Bf16{})), published(10, nearest(0.5f, Bf16{}));
  OneWorker one;
  Entries got(10, 4);
  const Selected selected = select_above(one, SelectFromBf16{w, published}, 1.5f, got.out());
  CHECK(selected.count == 10);
  CHECK(std::count_if(published.begin(), published.end(),
                      [](Bf16 x) { return widen(x) == 2.0f; }) == 4);
  CHECK(sampled_threshold(SelectFromBf16{w}, 1) > 0.0f);
}

TEST_CASE("a wrong prior is repaired, a good one is not") {
  const auto u = values_of("normal", 300'000);
  auto w = u;
  OneWorker one;
  Entries first(u.size(), 3000), again(u.size(), 3000), repaired(u.size(), 3000);
  const Selected selected = select_largest(one, {w}, 3000, 0, first.out());
  CHECK(!selected.is_repaired);
  CHECK(!select_largest(one, {w}, 3000, selected.tau_key, again.out()).is_repaired);
  CHECK(select_largest(one, {w}, 3000, selected.tau_key + (3u << 23), repaired.out()).is_repaired);
  CHECK(first.index == again.index);
  CHECK(first.index == repaired.index);
  CHECK(first.value == repaired.value);
}

TEST_CASE("a sample takes one sector from each run of sectors") {
  for (const std::size_t n :
       {std::size_t{8}, std::size_t{1000}, std::size_t{1} << 21, std::size_t{4294967295}}) {
    const std::size_t sectors = n / 8, strata = std::min<std::size_t>(sectors, 1000);
    std::size_t outside = 0;
    for (std::size_t s = 0; s < strata; ++s) {
      const std::size_t sector = sample_begin(n, strata, s) / 8;
      outside += sample_begin(n, strata, s) % 8 != 0 || sector < s * sectors / strata ||
                 sector >= (s + 1) * sectors / strata;
    }
    CHECK(outside == 0);
  }
}

TEST_CASE("layers of different scale do not upset the guess") {
  const std::size_t n = 400'000, layer = 6'250;
  OneWorker one;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng = Rng::stream(seed, "layers");
    std::vector<float> u(n);
    float scale = 1.0f;
    for (std::size_t i = 0; i < n; ++i) {
      if (i % layer == 0) scale = static_cast<float>(std::exp(rng.normal()));
      u[i] = scale * static_cast<float>(rng.normal());
    }
    for (const std::size_t k : {n / 1000, n / 100, n / 10}) {
      CAPTURE(seed, k);
      Entries got(n, k);
      CHECK(!select_largest(one, {u}, k, 0, got.out()).is_repaired);
      CHECK(got.tile_begin.back() == k);
    }
  }
}

TEST_CASE("what is published follows the entries, and the rest stays for later") {
  const std::size_t n = 200'003, k = 2000;
  for (const PublishKind kind : {PublishKind::kDelta, PublishKind::kAbsolute}) {
    auto w = values_of("normal", n);
    const auto start = values_of("special", n);
    auto published = start;
    const auto w_before = w;
    std::vector<float> u(n);
    for (std::size_t i = 0; i < n; ++i) u[i] = w[i] - published[i];
    const auto expected = largest(u, k);
    Turns workers(2);
    Entries got(n, k);
    const Selected selected = select_largest(workers, {w, published, kind}, k, 0, got.out());
    REQUIRE(selected.count == k);
    check_entries(expected, got, n);
    auto after = start;
    for (std::size_t j = 0; j < k; ++j) {
      const std::uint32_t i = expected[j];
      REQUIRE(got.value[j] == (kind == PublishKind::kDelta ? u[i] : w[i]));
      after[i] = kind == PublishKind::kDelta ? start[i] + u[i] : w[i];
    }
    CHECK(std::memcmp(after.data(), published.data(), n * sizeof(float)) == 0);
    CHECK(w == w_before);
  }
}

TEST_CASE("all above a threshold, and no more than the capacity") {
  const std::size_t n = 150'000;
  const auto u = values_of("special", n);
  const float tau = 1.5f;
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (std::isfinite(u[i]) && std::fabs(u[i]) >= tau) expected.push_back(i);
  }
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{100}, expected.size(), n}) {
    CAPTURE(capacity);
    auto left = u;
    Entries got(n, capacity);
    Turns workers(2);
    SelectFrom from{left};
    from.is_cleared = true;
    const Selected selected = select_above(workers, from, tau, got.out());
    CHECK(selected.count == expected.size());
    auto written = expected;
    written.resize(std::min(capacity, expected.size()));
    check_entries(written, got, n);
    auto rest = u;
    for (const std::uint32_t i : written) rest[i] = 0.0f;
    CHECK(std::memcmp(rest.data(), left.data(), n * sizeof(float)) == 0);
    CHECK((capacity <= written.size() || got.index[written.size()] == 0xa5a5a5a5u));
  }
}

TEST_CASE("a controlled threshold settles on the wanted count") {
  auto w = values_of("normal", 400'000);
  OneWorker one;
  const std::size_t k = 4000;
  CHECK(next_threshold(0.0f, k, k, 0.2).is_restart);
  CHECK(next_threshold(1.0f, 2 * k + 1, k, 0.2).is_restart);
  CHECK(next_threshold(1.0f, k / 2 - 1, k, 0.2).is_restart);
  CHECK(next_threshold(1.5f, k, k, 0.2).tau == 1.5f);
  float tau = 0.0f;
  std::uint64_t count = 0;
  for (int round = 0; round < 40; ++round) {
    const NextThreshold next = next_threshold(tau, count, k, 0.3);
    tau = next.is_restart ? sampled_threshold({w}, k) * 1.1f : next.tau;
    Entries got(w.size(), w.size());
    count = select_above(one, {w}, tau, got.out()).count;
  }
  CHECK(std::fabs(static_cast<double>(count) / static_cast<double>(k) - 1.0) < 0.01);
}
