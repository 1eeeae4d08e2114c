// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/gram_ops.hpp"

#include <cmath>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/gram_api.h"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

std::vector<float> normal_matrix(std::size_t n, std::size_t p, const char* purpose) {
  auto rng = Rng::stream(61, purpose);
  std::vector<float> x(n * p);
  for (float& v : x) v = static_cast<float>(rng.normal() + 0.5);
  return x;
}

struct Blas {
  Blas() { must(hs_cuda_gram_open(&handle), "cuBLAS"); }
  ~Blas() { hs_cuda_gram_close(handle); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  void* handle = nullptr;
};

std::vector<double> gram_on_gpu(const Blas& blas, std::size_t n, std::size_t p,
                                const std::vector<float>& x) {
  const DeviceArray<float> d_x(x), workspace(n * n);
  const DeviceArray<double> d_k(n * n);
  must(hs_cuda_gram(blas.handle, n, p, d_x.data(), workspace.data(), d_k.data(), nullptr), "gram");
  const auto k = d_k.host();
  CHECK((d_k.guards_hold() && workspace.guards_hold() && d_x.guards_hold()));
  return k;
}

Similarity cka_on_gpu(std::size_t n, const std::vector<double>& k, const std::vector<double>& l,
                      bool debiased) {
  const DeviceArray<double> d_k(k), d_l(l), d_out(5);
  const DeviceArray<std::uint8_t> workspace(hs_cuda_cka_workspace(n));
  must(hs_cuda_cka(n, d_k.data(), d_l.data(), debiased, workspace.data(), d_out.data(), nullptr),
       "cka");
  const auto out = d_out.host();
  CHECK((d_out.guards_hold() && workspace.guards_hold()));
  return {out[0], out[1], out[2], out[3], static_cast<int>(out[4])};
}

}  // namespace

TEST_CASE("Gram matrices are near the CPU's, symmetric, and the same each time") {
  const Blas blas;
  const auto [n, p] = GENERATE(table<std::size_t, std::size_t>(
      {{1, 1}, {7, 33}, {64, 1000}, {33, 20'001}, {300, 8192}, {5, 0}}));
  CAPTURE(n, p);
  const auto x = normal_matrix(n, p, "gram");
  std::vector<double> expected(n * n);
  gram(n, p, x, expected);
  const auto k = gram_on_gpu(blas, n, p, x);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double size = std::sqrt(expected[i * n + i] * expected[j * n + j]);
      REQUIRE(std::fabs(k[i * n + j] - expected[i * n + j]) <= 1e-5 * size);
      REQUIRE(k[i * n + j] == k[j * n + i]);
    }
  }
  CHECK(gram_on_gpu(blas, n, p, x) == k);
}

TEST_CASE("centring and CKA agree with the CPU") {
  const bool debiased = GENERATE(false, true);
  const std::size_t n = GENERATE(4u, 60u, 300u);
  const auto x = normal_matrix(n, 90, "x");
  auto y = normal_matrix(n, 90, "y");
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += x[i];
  std::vector<double> k(n * n), l(n * n);
  gram(n, 90, x, k);
  gram(n, 90, y, l);
  const Similarity expected = cka(n, k, l, debiased), got = cka_on_gpu(n, k, l, debiased);
  CHECK(got.undefined == expected.undefined);
  CHECK(got.value == Approx(expected.value).epsilon(1e-9).margin(1e-9));
  CHECK(got.kl == Approx(expected.kl).epsilon(1e-9));
  CHECK(got.kk == Approx(expected.kk).epsilon(1e-9));
  CHECK(got.ll == Approx(expected.ll).epsilon(1e-9));
  CHECK(std::fabs(cka_on_gpu(n, k, k, debiased).value - 1.0) <= 1e-12);

  const DeviceArray<double> d_k(k), means(n + 1);
  must(hs_cuda_centre_gram(n, d_k.data(), means.data(), nullptr), "centre");
  centre_gram(n, k);
  const auto centred = d_k.host();
  for (std::size_t i = 0; i < n * n; ++i) REQUIRE(std::fabs(centred[i] - k[i]) <= 1e-9);
  CHECK((d_k.guards_hold() && means.guards_hold()));
}

TEST_CASE("constant features are said to be so") {
  const bool debiased = GENERATE(false, true);
  const std::size_t n = 20;
  std::vector<double> k(n * n), constant(n * n, 7.5);
  gram(n, 30, normal_matrix(n, 30, "x"), k);
  const Similarity s = cka_on_gpu(n, k, constant, debiased);
  CHECK(s.undefined == 1);
  CHECK(s.value == 0.0);
  CHECK(hs_cuda_cka(1, nullptr, nullptr, 0, nullptr, nullptr, nullptr) != 0);
  CHECK(hs_cuda_cka(3, nullptr, nullptr, 1, nullptr, nullptr, nullptr) != 0);
}
