// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/merge_ops.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

std::vector<float> random_values(std::size_t n, const char* purpose) {
  Rng rng = Rng::stream(3, purpose);
  std::vector<float> values(n);
  for (float& v : values)
    v = static_cast<float>(rng.normal()) * (rng.below(50) == 0 ? 1e3f : 1.0f);  // outliers
  return values;
}

const std::vector<std::size_t> kSizes = {0, 1, 15, 16, 17, 31, 4095, 4096, 4097, 10'000};

}  // namespace

TEST_CASE("a blend rounds difference, product and sum one after the other") {
  for (const std::size_t n : kSizes) {
    for (const float alpha : {0.0f, 0.1f, 0.5f, 1.0f}) {
      for (const bool with_base : {false, true}) {
        for (const bool with_mark : {false, true}) {
          CAPTURE(n, alpha, with_base, with_mark);
          const auto start = random_values(n, "w"), in = random_values(n, "in"),
                     base = random_values(n, "base");
          auto w = start, mark = random_values(n, "mark");
          const auto mark_before = mark;
          merge_blend(alpha, w, in, with_base ? base : std::vector<float>{},
                      with_mark ? std::span<float>(mark) : std::span<float>{});
          for (std::size_t i = 0; i < n; ++i) {
            const volatile float difference = in[i] - (with_base ? base[i] : start[i]);
            const volatile float u = alpha * difference;
            const volatile float expected = start[i] + u;
            if (alpha == 1.0f && !with_base) {
              REQUIRE(w[i] == in[i]);
            } else {
              REQUIRE(w[i] == (alpha == 0.0f ? start[i] : expected));
            }
            const volatile float expected_mark = mark_before[i] + u;
            REQUIRE(mark[i] == (with_mark && alpha != 0.0f ? expected_mark : mark_before[i]));
          }
        }
      }
    }
  }
}

TEST_CASE("statistics agree with long double sums") {
  for (const std::size_t n : kSizes) {
    CAPTURE(n);
    const auto w = random_values(n, "w"), in = random_values(n, "in"),
               base = random_values(n, "base"), mark = random_values(n, "mark");
    const MergeStats stats = merge_stats(w, in, base, mark);
    long double d2 = 0, w2 = 0, l2 = 0, dot = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const float d = in[i] - base[i], l = w[i] - mark[i];
      d2 += static_cast<long double>(d) * d;
      w2 += static_cast<long double>(w[i]) * w[i];
      l2 += static_cast<long double>(l) * l;
      dot += static_cast<long double>(d) * l;
    }
    CHECK(stats.displacement_sq == Approx(static_cast<double>(d2)).epsilon(1e-12));
    CHECK(stats.weights_sq == Approx(static_cast<double>(w2)).epsilon(1e-12));
    CHECK(stats.local_sq == Approx(static_cast<double>(l2)).epsilon(1e-12));
    CHECK(stats.dot == Approx(static_cast<double>(dot)).epsilon(1e-9).margin(1e-9));
    CHECK(squared_distance(in, base) == Approx(static_cast<double>(d2)).epsilon(1e-12));
    CHECK(stats.bad == 0);
  }
}

TEST_CASE("every value that is not finite is counted, wherever it stands") {
  for (const float poison :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{15}, std::size_t{4096}, std::size_t{9'999}}) {
      auto w = random_values(10'000, "w"), in = random_values(10'000, "in");
      in[at] = poison;
      CHECK(merge_stats(w, in, {}, {}).bad == 1);
      w[9'998] = poison;
      CHECK(merge_stats(w, in, {}, {}).bad == 2);
    }
  }
}

TEST_CASE("the largest finite values are not called bad") {
  std::vector<float> w(33, std::numeric_limits<float>::max()),
      in(33, std::numeric_limits<float>::lowest());
  CHECK(merge_stats(w, in, {}, {}).bad == 0);
}
