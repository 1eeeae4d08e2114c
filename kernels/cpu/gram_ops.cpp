// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/gram_ops.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <cblas.h>

#include "kernels/core/buffer.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::kernels {
namespace {

GramSums with_row_products(GramSums row) {
  row.rows_kl = row.k * row.l;
  row.rows_kk = row.k * row.k;
  row.rows_ll = row.l * row.l;
  return row;
}

GramPair row_sums(std::size_t n, std::size_t i, const double* k, const double* l) {
  GramSums all{};
  for (std::size_t j = 0; j < n; ++j) {
    all.kl += k[j] * l[j];
    all.kk += k[j] * k[j];
    all.ll += l[j] * l[j];
    all.k += k[j];
    all.l += l[j];
  }
  GramSums off = all;
  off.kl -= k[i] * l[i];
  off.kk -= k[i] * k[i];
  off.ll -= l[i] * l[i];
  off.k -= k[i];
  off.l -= l[i];
  return {with_row_products(all), with_row_products(off)};
}

}  // namespace

void gram(std::size_t n, std::size_t p, std::span<const float> x, std::span<double> k) {
  HS_CHECK(x.size() == n * p && k.size() == n * n);
  std::fill(k.begin(), k.end(), 0.0);
  Buffer<float> piece(n * n);
  for (std::size_t begin = 0; begin < p && n > 0; begin += kGramPiece) {
    cblas_ssyrk(CblasRowMajor, CblasUpper, CblasNoTrans, static_cast<blasint>(n),
                static_cast<blasint>(std::min(kGramPiece, p - begin)), 1.0f, x.data() + begin,
                static_cast<blasint>(p), 0.0f, piece.data(), static_cast<blasint>(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j) k[i * n + j] += static_cast<double>(piece[i * n + j]);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) k[i * n + j] = k[j * n + i];
  }
}

void centre_gram(std::size_t n, std::span<double> k) {
  HS_CHECK(k.size() == n * n);
  if (n == 0) return;
  std::vector<double> means(n, 0.0);
  double mean = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) means[i] += k[i * n + j];
    mean += means[i];
    means[i] /= static_cast<double>(n);
  }
  mean /= static_cast<double>(n) * static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) k[i * n + j] += mean - (means[i] + means[j]);
  }
}

Similarity cka(std::size_t n, std::span<const double> k, std::span<const double> l, bool debiased) {
  HS_CHECK(n >= (debiased ? 4u : 2u) && k.size() == n * n && l.size() == n * n);
  GramPair sums{};
  for (std::size_t i = 0; i < n; ++i) {
    const GramPair row = row_sums(n, i, k.data() + i * n, l.data() + i * n);
    add_sums(sums.all, row.all);
    add_sums(sums.off, row.off);
  }
  Similarity out = similarity_of(sums, static_cast<double>(n), debiased);
  if (out.undefined == 0) out.value = out.kl / (std::sqrt(out.kk) * std::sqrt(out.ll));
  return out;
}

}  // namespace hearsay::kernels
