// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/gram_ops.hpp"

#include <cmath>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

using Matrix = std::vector<float>;

Matrix normal_matrix(std::size_t n, std::size_t p, const char* purpose, double mean = 0.0) {
  auto rng = Rng::stream(21, purpose);
  Matrix x(n * p);
  for (float& v : x) v = static_cast<float>(rng.normal() + mean);
  return x;
}

std::vector<double> gram_of(std::size_t n, const Matrix& x) {
  std::vector<double> k(n * n, -1.0);
  gram(n, x.size() / n, x, k);
  return k;
}

double cka_of(std::size_t n, const Matrix& x, const Matrix& y, bool debiased) {
  const Similarity s = cka(n, gram_of(n, x), gram_of(n, y), debiased);
  REQUIRE(s.undefined == 0);
  return s.value;
}

// By the definition: columns centred, |Y^T X|^2 / (|X^T X| |Y^T Y|), all in double.
double cka_by_features(std::size_t n, const Matrix& x, const Matrix& y) {
  const auto centred = [n](const Matrix& from) {
    const std::size_t p = from.size() / n;
    std::vector<double> out(from.begin(), from.end());
    for (std::size_t c = 0; c < p; ++c) {
      double mean = 0.0;
      for (std::size_t i = 0; i < n; ++i) mean += out[i * p + c] / static_cast<double>(n);
      for (std::size_t i = 0; i < n; ++i) out[i * p + c] -= mean;
    }
    return out;
  };
  const auto norm = [n](const std::vector<double>& a, const std::vector<double>& b) {
    const std::size_t p = a.size() / n, q = b.size() / n;
    double sum = 0.0;
    for (std::size_t c = 0; c < p; ++c) {
      for (std::size_t d = 0; d < q; ++d) {
        double dot = 0.0;
        for (std::size_t i = 0; i < n; ++i) dot += a[i * p + c] * b[i * q + d];
        sum += dot * dot;
      }
    }
    return sum;
  };
  const auto cx = centred(x), cy = centred(y);
  return norm(cx, cy) / std::sqrt(norm(cx, cx) * norm(cy, cy));
}

// x times a product of reflections, each orthogonal.
Matrix turned(std::size_t n, const Matrix& x) {
  const std::size_t p = x.size() / n;
  auto rng = Rng::stream(22, "turn");
  Matrix out = x;
  for (int round = 0; round < 5; ++round) {
    std::vector<double> v(p);
    double norm = 0.0;
    for (double& each : v) each = rng.normal();
    for (const double each : v) norm += each * each;
    for (std::size_t i = 0; i < n; ++i) {
      double dot = 0.0;
      for (std::size_t c = 0; c < p; ++c) dot += static_cast<double>(out[i * p + c]) * v[c];
      for (std::size_t c = 0; c < p; ++c)
        out[i * p + c] =
            static_cast<float>(static_cast<double>(out[i * p + c]) - 2 * dot / norm * v[c]);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a Gram matrix is what sums in double say, over pieces of columns too") {
  const auto [n, p] = GENERATE(
      std::pair<std::size_t, std::size_t>{1, 1}, std::pair<std::size_t, std::size_t>{7, 33},
      std::pair<std::size_t, std::size_t>{33, 20'001}, std::pair<std::size_t, std::size_t>{5, 0});
  CAPTURE(n, p);
  const Matrix x = normal_matrix(n, p, "gram");
  std::vector<double> k(n * n, -1.0);
  gram(n, p, x, k);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0.0, size = 0.0;
      for (std::size_t c = 0; c < p; ++c) {
        const double term = static_cast<double>(x[i * p + c]) * static_cast<double>(x[j * p + c]);
        sum += term;
        size += std::fabs(term);
      }
      REQUIRE(std::fabs(k[i * n + j] - sum) <= 1e-6 * size);
      REQUIRE(k[i * n + j] == k[j * n + i]);
    }
  }
}

TEST_CASE("CKA of a thing with itself is 1, turned or scaled as well") {
  const bool debiased = GENERATE(false, true);
  const std::size_t n = 60;
  const Matrix x = normal_matrix(n, 200, "itself", 0.3);
  Matrix scaled = x;
  for (float& v : scaled) v *= 37.5f;
  CHECK(std::fabs(cka_of(n, x, x, debiased) - 1.0) <= 1e-6);
  CHECK(std::fabs(cka_of(n, x, scaled, debiased) - 1.0) <= 1e-6);
  CHECK(std::fabs(cka_of(n, x, turned(n, x), debiased) - 1.0) <= 1e-6);
}

TEST_CASE("biased CKA is the one of centred features") {
  const std::size_t n = 40;
  const Matrix x = normal_matrix(n, 30, "x", 2.0);
  Matrix y = normal_matrix(n, 17, "y", -1.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < 17; ++c) y[i * 17 + c] += x[i * 30 + c];
  }
  CHECK(cka_of(n, x, y, false) == Approx(cka_by_features(n, x, y)).epsilon(1e-5));
  Matrix near = x;
  near[5] += 0.01f;
  const double apart = 1.0 - cka_by_features(n, x, near);
  CHECK(apart < 1e-4);
  CHECK(1.0 - cka_of(n, x, near, false) == Approx(apart).margin(2e-6));
}

TEST_CASE(
    "features that have nothing to do with each other: about 0 without bias, far from it with") {
  const std::size_t n = 64;
  double with = 0.0, without = 0.0;
  for (int round = 0; round < 20; ++round) {
    const Matrix x = normal_matrix(n, 256, ("a" + std::to_string(round)).c_str());
    const Matrix y = normal_matrix(n, 256, ("b" + std::to_string(round)).c_str());
    with += cka_of(n, x, y, false) / 20;
    without += cka_of(n, x, y, true) / 20;
  }
  CHECK(with > 0.5);
  CHECK(std::fabs(without) < 0.02);
}

TEST_CASE("what is constant has no similarity, and says so") {
  const bool debiased = GENERATE(false, true);
  const std::size_t n = 20;
  const Matrix x = normal_matrix(n, 50, "x");
  const Matrix row = normal_matrix(1, 50, "row", 3.0);
  Matrix constant;
  for (std::size_t i = 0; i < n; ++i) constant.insert(constant.end(), row.begin(), row.end());
  for (const Matrix& y : {constant, Matrix(n * 50, 0.0f)}) {
    const Similarity s = cka(n, gram_of(n, x), gram_of(n, y), debiased);
    CHECK(s.undefined == 1);
    CHECK(s.value == 0.0);
  }
}

TEST_CASE("centring a Gram matrix centres the columns behind it") {
  const std::size_t n = 12, p = 30;
  Matrix x = normal_matrix(n, p, "centre", 1.5);
  auto k = gram_of(n, x);
  centre_gram(n, k);
  for (std::size_t c = 0; c < p; ++c) {
    double mean = 0.0;
    for (std::size_t i = 0; i < n; ++i) mean += static_cast<double>(x[i * p + c]) / n;
    for (std::size_t i = 0; i < n; ++i) x[i * p + c] -= static_cast<float>(mean);
  }
  const auto expected = gram_of(n, x);
  for (std::size_t i = 0; i < n * n; ++i) REQUIRE(k[i] == Approx(expected[i]).margin(1e-4));
}
