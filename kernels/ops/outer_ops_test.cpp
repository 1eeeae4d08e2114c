// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/outer_ops.hpp"

#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

const std::vector<std::size_t> kSizes = {0, 1, 15, 16, 17, 2047, 2048, 2049, 5000};

std::vector<float> random_values(std::size_t n, const char* purpose) {
  Rng rng = Rng::stream(5, purpose);
  std::vector<float> values(n);
  for (float& v : values)
    v = static_cast<float>(rng.normal()) * (rng.below(50) == 0 ? 1e3f : 1.0f);  // outliers
  return values;
}

}  // namespace

TEST_CASE("an outer step rounds every operation by itself, in the order that is written down") {
  for (const std::size_t n : kSizes) {
    for (const bool mixes : {false, true}) {
      for (const int buffering : {0, 1, 2}) {  // none, gathers, flushes
        CAPTURE(n, mixes, buffering);
        const OuterStep step{0.7f, 0.3f, 0.55f, 0.9f, 0.45f, 0.8f, buffering == 2};
        const auto w = random_values(n, "w"), in = random_values(mixes ? n : 0, "in"),
                   base = random_values(mixes ? n : 0, "base"), slow0 = random_values(n, "slow"),
                   m0 = random_values(n, "m");
        const auto buffer0 = random_values(buffering > 0 ? n : 0, "buffer");
        auto slow = slow0, m = m0, buffer = buffer0;
        outer_step(step, w, in, base, slow, m, buffer);
        for (std::size_t i = 0; i < n; ++i) {
          const volatile float d = w[i] - slow0[i];
          const volatile float x = mixes ? in[i] - base[i] : 0.0f;
          const volatile float a = 0.9f * d, b = 0.45f * x, u = mixes ? a + b : float(a);
          volatile float now = m0[i];
          if (buffering == 0) {
            const volatile float kept = 0.8f * m0[i];
            now = kept + u;
          } else {
            const volatile float gathered = buffer0[i] + u, kept = 0.8f * m0[i];
            if (buffering == 2) now = kept + gathered;
            REQUIRE(buffer[i] == (buffering == 2 ? 0.0f : float(gathered)));
          }
          REQUIRE(m[i] == now);
          const volatile float e = 0.7f * d, f = 0.3f * x, plain = mixes ? e + f : float(e);
          const volatile float g = 0.55f * now, all = plain + g, expected = slow0[i] + all;
          REQUIRE(slow[i] == expected);
        }
      }
    }
  }
}

TEST_CASE("what is extrapolated by 1 or 0 is one of the two, up to rounding") {
  for (const std::size_t n : kSizes) {
    const auto w = random_values(n, "w"), slow = random_values(n, "slow");
    std::vector<float> out(n);
    extrapolate(0.0f, w, slow, out);
    CHECK(out == slow);
    extrapolate(1.5f, w, slow, out);
    for (std::size_t i = 0; i < n; ++i) {
      const volatile float d = w[i] - slow[i], u = 1.5f * d, expected = slow[i] + u;
      REQUIRE(out[i] == expected);
    }
  }
}
