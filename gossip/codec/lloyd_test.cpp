// SPDX-License-Identifier: Apache-2.0
// Few bits: the error is what theory gives for normal values, no level is further than the nearest
// one, and pieces are the whole.
#include "gossip/codec/lloyd.hpp"

#include <cmath>
#include <limits>

#include "gossip/codec/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;

using Bytes = std::vector<std::uint8_t>;

struct Written {
  Bytes levels, scales;
  std::vector<float> error;
};

Written written(const LloydCode& code, const std::vector<float>& x) {
  Written w{Bytes(lloyd_bytes(code, x.size())), Bytes(lloyd_scale_bytes(code, x.size())),
            std::vector<float>(x.size())};
  put_lloyd(code, x, w.levels, w.scales, w.error);
  return w;
}

std::vector<float> read(const LloydCode& code, const Written& w) {
  std::vector<float> y(w.error.size());
  get_lloyd(code, w.levels, w.scales, y);
  return y;
}

double squares(const std::vector<float>& x) {
  double sum = 0.0;
  for (const float each : x) sum += static_cast<double>(each) * each;
  return sum;
}

}  // namespace

TEST_CASE("Normal values err by what Max's tables say, whatever their size") {
  const double expected[] = {0.3634, 0.1175, 0.03454};
  for (const unsigned bits : {1u, 2u, 3u}) {
    for (const double scale : {1e-6, 1.0, 1e6}) {
      const LloydCode code{bits, 256};
      const std::vector<float> x = normals(100'000, scale, bits);
      const Written w = written(code, x);
      INFO(bits << " bits of values around " << scale);
      CHECK(squares(w.error) / squares(x) == Approx(expected[bits - 1]).epsilon(0.03));
    }
  }
}

TEST_CASE("Values with a long tail err less than by one scale for all: scales are fitted") {
  std::vector<float> x = normals(64'000, 1.0, 1);
  for (float& each : x) each = each * each * each;
  const LloydCode code{3, 64};
  const double fitted = squares(written(code, x).error);
  // The same levels at the root mean square of each block.
  double fixed = 0.0;
  for (std::size_t at = 0; at < x.size(); at += 64) {
    const std::vector<float> block(x.begin() + static_cast<std::ptrdiff_t>(at),
                                   x.begin() + static_cast<std::ptrdiff_t>(at) + 64);
    const double rms = std::sqrt(squares(block) / 64.0);
    for (const float each : block) {
      double least = 1e300;
      for (const double level : {0.24509418, 0.75600528, 1.34390928, 2.1519457})
        least = std::min(least, std::fabs(std::fabs(each) - level * rms));
      fixed += least * least;
    }
  }
  CHECK(fitted < 0.9 * fixed);
}

TEST_CASE("What is read and what is left add up to the value, and the sign is right") {
  for (const unsigned bits : {1u, 2u, 3u}) {
    for (const std::size_t n : {1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 1000}) {
      const LloydCode code{bits, 32};
      const std::vector<float> x = normals(n, 0.1, 5 + n);
      const Written w = written(code, x);
      const std::vector<float> y = read(code, w);
      for (std::size_t i = 0; i < n; ++i) {
        INFO(bits << " bits, value " << i << " of " << n);
        REQUIRE(y[i] + w.error[i] == Approx(x[i]).margin(1e-7));
        REQUIRE((y[i] < 0.0f) == (x[i] < 0.0f));
      }
    }
  }
}

TEST_CASE("Pieces of few bits are the bytes and values of the whole") {
  for (const unsigned bits : {1u, 2u, 3u}) {
    const LloydCode code{bits, 64};
    const std::size_t n = 1000, cut = 320;
    const std::vector<float> x = normals(n, 0.01, 3);
    const Written whole = written(code, x);
    Written parts{Bytes(whole.levels.size()), Bytes(whole.scales.size()), std::vector<float>(n)};
    std::vector<float> y(n);
    for (std::size_t at = 0; at < n; at += cut) {
      const std::size_t count = std::min(cut, n - at);
      const auto levels =
          std::span(parts.levels).subspan(lloyd_bytes(code, at), lloyd_bytes(code, count));
      const auto scales = std::span(parts.scales)
                              .subspan(lloyd_scale_bytes(code, at), lloyd_scale_bytes(code, count));
      put_lloyd(code, std::span(x).subspan(at, count), levels, scales,
                std::span(parts.error).subspan(at, count));
      get_lloyd(code, levels, scales, std::span(y).subspan(at, count));
    }
    CHECK(parts.levels == whole.levels);
    CHECK(parts.scales == whole.scales);
    CHECK(parts.error == whole.error);
    CHECK(y == read(code, whole));
  }
}

TEST_CASE("Few bits of zeros, of no numbers and of the largest ones are finite") {
  const LloydCode code{2, 32};
  const std::vector<float> zeros(40, 0.0f);
  CHECK(read(code, written(code, zeros)) == zeros);
  std::vector<float> x = normals(64, 1.0, 1);
  x[3] = std::nanf("");
  x[40] = -std::numeric_limits<float>::infinity();
  for (const float each : read(code, written(code, x))) CHECK(std::isfinite(each));
  for (const unsigned bits : {1u, 2u, 3u}) {  // too small for the inverse of a scale
    const std::vector<float> tiny = normals(64, 1e-39, 2);
    const std::vector<float> y = read({bits, 32}, written({bits, 32}, tiny));
    for (std::size_t i = 0; i < tiny.size(); ++i) CHECK(std::fabs(y[i]) <= 1e-38f);
  }
  const std::vector<float> most(64, std::numeric_limits<float>::max());
  for (const float each : read(code, written(code, most))) CHECK(std::isfinite(each));
}

}  // namespace hearsay::gossip
