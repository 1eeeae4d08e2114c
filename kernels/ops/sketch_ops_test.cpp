// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/sketch_ops.hpp"

#include <cmath>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

std::vector<float> normal_values(std::size_t n, const char* purpose) {
  auto rng = Rng::stream(31, purpose);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(rng.normal());
  return x;
}

// Pretends to have threads; runs the parts backwards.
class Backwards final : public Workers {
 public:
  explicit Backwards(std::size_t count) : count_(count) {}
  std::size_t count() const override { return count_; }
  void run(const std::function<void(std::size_t)>& body) override {
    for (std::size_t part = count_; part-- > 0;) body(part);
  }

 private:
  std::size_t count_;
};

std::vector<float> sketched(const SketchPlan& plan, std::span<const float> x,
                            std::size_t threads = 1) {
  std::vector<float> y(sketch_values(plan), -1.0f);
  Backwards workers(threads);
  sketch(plan, x, y, workers);
  return y;
}

std::vector<float> srht_of(std::uint64_t seed, std::span<const float> x, std::size_t kept,
                           std::size_t threads = 1) {
  std::vector<float> y(kept, -1.0f);
  Backwards workers(threads);
  srht(seed, x, y, workers);
  return y;
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// One value after the other, from the definition.
std::vector<float> sketched_slowly(const SketchPlan& plan, std::span<const float> x) {
  const std::size_t m = plan.buckets, eights = m / 8;
  std::vector<float> y(sketch_values(plan));
  for (std::uint32_t row = 0; row < plan.rows; ++row) {
    std::vector<double> sums(m, 0.0);
    for (std::uint32_t chain = 0; chain < kSketchChains; ++chain) {
      std::vector<float> part(m, 0.0f);
      for (std::uint32_t k = 0; (std::size_t{k} * kSketchChains + chain) * m < x.size(); ++k) {
        const std::size_t tile = std::size_t{k} * kSketchChains + chain;
        const SketchPlace place = sketch_place(sketch_words(plan.seed, k, chain, 0, 0).word[0],
                                               static_cast<std::uint32_t>(eights));
        for (std::size_t i = 0; i < m && tile * m + i < x.size(); ++i) {
          const std::size_t bucket = (i / 8 + place.turn) % eights * 8 + (i % 8 ^ place.swap);
          const std::uint32_t word = sketch_words(plan.seed, static_cast<std::uint32_t>(bucket / 4),
                                                  chain, k / 32, 16 + row)
                                         .word[bucket % 4];
          part[bucket] += (word >> k % 32 & 1) != 0 ? -x[tile * m + i] : x[tile * m + i];
        }
      }
      for (std::size_t b = 0; b < m; ++b) sums[b] += static_cast<double>(part[b]);
    }
    for (std::size_t b = 0; b < m; ++b) y[row * m + b] = static_cast<float>(sums[b]);
  }
  return y;
}

struct Moments {
  double mean = 0.0, variance = 0.0;
};

template <typename Estimate>
Moments moments(int seeds, const Estimate& estimate) {
  double sum = 0.0, squares = 0.0;
  for (int seed = 0; seed < seeds; ++seed) {
    const double e = estimate(static_cast<std::uint64_t>(seed) * 7919 + 1);
    sum += e;
    squares += e * e;
  }
  const double mean = sum / seeds;
  return {mean, squares / seeds - mean * mean};
}

struct Pair {
  const char* name;
  std::vector<float> x, y;
};

// Pairs for which a weak sketch fails: plain, one spike, constant, equal spikes in one tile and at
// the same place of two tiles.
std::vector<Pair> pairs(std::size_t n) {
  std::vector<Pair> all;
  auto x = normal_values(n, "x"), y = normal_values(n, "y");
  for (std::size_t i = 0; i < n; ++i) y[i] += 0.5f * x[i];
  all.push_back({"normal", x, y});
  std::vector<float> spike(n, 0.0f);
  spike[n / 3] = 100.0f;
  all.push_back({"spike", spike, x});
  all.push_back({"constant", std::vector<float>(n, 1.0f), std::vector<float>(n, 1.0f)});
  std::vector<float> one(n, 0.0f), two(n, 0.0f);
  one[5] = one[900] = 3.0f;
  two[5] = two[5 + 4096] = 2.0f;
  all.push_back({"two in a tile", one, one});
  all.push_back({"same place", two, two});
  return all;
}

}  // namespace

TEST_CASE("a sketch has the bits of its definition for any number of threads") {
  SketchPlan plan;
  plan.buckets = GENERATE(1024u, 3072u);
  plan.rows = GENERATE(1u, 4u);
  plan.seed = 0xABCDEF0123456789ull;
  const std::size_t n = GENERATE(0u, 1u, 9u, 1023u, 1024u, 5001u, 1'400'003u);
  CAPTURE(plan.buckets, plan.rows, n);
  auto x = normal_values(n, "definition");
  for (std::size_t i = 0; i < n; i += 97) x[i] *= 1e6f;
  const auto expected = sketched_slowly(plan, x);
  for (const std::size_t threads : {1u, 3u, 300u}) REQUIRE(sketched(plan, x, threads) == expected);
}

TEST_CASE("the SRHT has the same bits for any number of threads") {
  const std::size_t n = GENERATE(0u, 1u, 4095u, 4097u, 3'000'001u);
  const auto x = normal_values(n, "srht");
  const auto expected = srht_of(5, x, 1000);
  CHECK(srht_of(5, x, 1000, 2) == expected);
  CHECK(srht_of(5, x, 1000, 300) == expected);
}

TEST_CASE("one block of the SRHT is a signed Walsh-Hadamard transform of the signed block") {
  const auto x = normal_values(kSrhtBlock, "hadamard");
  const auto y = srht_of(9, x, kSrhtBlock);
  std::vector<double> signed_x(kSrhtBlock);
  for (std::uint32_t i = 0; i < kSrhtBlock; ++i) {
    const std::uint32_t word = sketch_words(9, i / 4, 0, 0, 1).word[i % 4];
    signed_x[i] = static_cast<double>((word & 1) != 0 ? -x[i] : x[i]);
  }
  for (std::uint32_t c = 0; c < kSrhtBlock; c += 37) {
    double sum = 0.0;
    for (std::uint32_t i = 0; i < kSrhtBlock; ++i)
      sum += __builtin_parity(c & i) != 0 ? -signed_x[i] : signed_x[i];
    REQUIRE(std::fabs(static_cast<double>(y[c])) == Approx(std::fabs(sum) / 64.0).margin(1e-5));
  }
}

TEST_CASE("kept coordinates differ and depend on the seed") {
  const auto a = srht_coordinates(1, 512), b = srht_coordinates(2, 512);
  CHECK(a != b);
  for (std::size_t j = 1; j < a.size(); ++j) REQUIRE(a[j - 1] < a[j]);
  CHECK(a.back() < kSrhtBlock);
  CHECK(srht_coordinates(3, kSrhtBlock).size() == kSrhtBlock);
}

TEST_CASE("sketches are linear") {
  const std::size_t n = 100'003;
  const auto x = normal_values(n, "x"), y = normal_values(n, "y");
  std::vector<float> sum(n);
  for (std::size_t i = 0; i < n; ++i) sum[i] = 3.0f * x[i] - 0.5f * y[i];
  const SketchPlan plan{1024, 2, 4};
  const auto sx = sketched(plan, x), sy = sketched(plan, y), ss = sketched(plan, sum);
  for (std::size_t i = 0; i < ss.size(); ++i)
    REQUIRE(ss[i] == Approx(3.0f * sx[i] - 0.5f * sy[i]).margin(2e-3));
  const auto hx = srht_of(4, x, 300), hy = srht_of(4, y, 300), hs = srht_of(4, sum, 300);
  for (std::size_t i = 0; i < hs.size(); ++i)
    REQUIRE(hs[i] == Approx(3.0f * hx[i] - 0.5f * hy[i]).margin(2e-3));
}

TEST_CASE("inner products are right in the mean, and their variance keeps the bound") {
  constexpr int kSeeds = 2000;
  for (const Pair& pair : pairs(3 * 4096 + 77)) {
    const double exact = dot(pair.x, pair.y);
    const double bound = dot(pair.x, pair.x) * dot(pair.y, pair.y) + exact * exact;
    const auto check = [&](const Moments& got, double m, int seeds, const char* kind) {
      CAPTURE(pair.name, kind, exact, got.mean, got.variance, bound / m);
      // 2000 seeds: the variance of a variance is about 2 / 2000, more for few, rare collisions.
      CHECK(got.variance <= 1.25 * bound / m);
      CHECK(std::fabs(got.mean - exact) <=
            4.5 * std::sqrt(bound / m / seeds) + 1e-6 * std::sqrt(bound));
    };
    for (const std::uint32_t rows : {1u, 4u}) {
      check(moments(kSeeds,
                    [&](std::uint64_t seed) {
                      const SketchPlan plan{1024, rows, seed};
                      return sketch_dot(plan, sketched(plan, pair.x), sketched(plan, pair.y));
                    }),
            1024.0 * rows, kSeeds, rows == 1 ? "one row" : "four rows");
    }
    check(moments(kSeeds / 4,
                  [&](std::uint64_t seed) {
                    return dot(srht_of(seed, pair.x, 256), srht_of(seed, pair.y, 256));
                  }),
          256.0, kSeeds / 4, "srht");
  }
}
