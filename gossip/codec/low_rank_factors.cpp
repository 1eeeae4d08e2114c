// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/low_rank_factors.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

constexpr double kTiny = 1e-6;       // of a column's length: what is left of it is rounding
constexpr double kTolerance = 1e-3;  // of products of columns that another process sent

// Column k of p times column l.
template <typename T>
double column_product(std::size_t rows, std::size_t rank, const T* p, std::size_t k,
                      std::size_t l) {
  double sum = 0.0;
  for (std::size_t i = 0; i < rows; ++i)
    sum += static_cast<double>(p[i * rank + k]) * static_cast<double>(p[i * rank + l]);
  return sum;
}

}  // namespace

void times_right(const MatrixSlot& m, std::span<const float> d, std::span<const float> q,
                 std::span<double> p) {
  HS_CHECK(d.size() == m.count() && q.size() == m.cols * m.rank && p.size() == m.rows * m.rank);
  std::fill(p.begin(), p.end(), 0.0);
  for (std::size_t i = 0; i < m.rows; ++i) {
    double* const to = p.data() + i * m.rank;
    for (std::size_t j = 0; j < m.cols; ++j) {
      const double x = static_cast<double>(d[i * m.cols + j]);
      for (std::size_t k = 0; k < m.rank; ++k) to[k] += x * static_cast<double>(q[j * m.rank + k]);
    }
  }
}

void along(const MatrixSlot& m, std::span<const float> p, std::span<const float> d,
           std::span<float> c) {
  HS_CHECK(d.size() == m.count() && p.size() == m.rows * m.rank && c.size() == m.rank * m.cols);
  std::vector<double> sum(m.cols);
  for (std::size_t k = 0; k < m.rank; ++k) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t i = 0; i < m.rows; ++i) {
      const double x = static_cast<double>(p[i * m.rank + k]);
      const float* const row = d.data() + i * m.cols;
      for (std::size_t j = 0; j < m.cols; ++j) sum[j] += x * static_cast<double>(row[j]);
    }
    for (std::size_t j = 0; j < m.cols; ++j) c[k * m.cols + j] = static_cast<float>(sum[j]);
  }
}

void add_product(const MatrixSlot& m, std::span<const float> p, std::span<const float> c,
                 std::span<float> d) {
  HS_CHECK(d.size() == m.count() && p.size() == m.rows * m.rank && c.size() == m.rank * m.cols);
  std::vector<double> sum(m.cols);
  for (std::size_t i = 0; i < m.rows; ++i) {
    float* const row = d.data() + i * m.cols;
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t k = 0; k < m.rank; ++k) {
      const double x = static_cast<double>(p[i * m.rank + k]);
      const float* const from = c.data() + k * m.cols;
      for (std::size_t j = 0; j < m.cols; ++j) sum[j] += x * static_cast<double>(from[j]);
    }
    for (std::size_t j = 0; j < m.cols; ++j) row[j] += static_cast<float>(sum[j]);
  }
}

void orthonormalise(const MatrixSlot& m, std::span<double> p, std::span<float> out) {
  HS_CHECK(p.size() == m.rows * m.rank && out.size() == p.size());
  const std::size_t r = m.rank;
  for (std::size_t k = 0; k < r; ++k) {
    const double length = std::sqrt(column_product(m.rows, r, p.data(), k, k));
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t l = 0; l < k; ++l) {
        const double shared = column_product(m.rows, r, p.data(), l, k);
        for (std::size_t i = 0; i < m.rows; ++i) p[i * r + k] -= shared * p[i * r + l];
      }
    }
    const double left = std::sqrt(column_product(m.rows, r, p.data(), k, k));
    const double scale = left > kTiny * length && std::isfinite(left) ? 1.0 / left : 0.0;
    for (std::size_t i = 0; i < m.rows; ++i) {
      p[i * r + k] = scale > 0.0 ? p[i * r + k] * scale : 0.0;
      out[i * r + k] = static_cast<float>(p[i * r + k]);
    }
  }
}

bool is_orthonormal(const MatrixSlot& m, std::span<const float> p) {
  for (std::size_t k = 0; k < m.rank; ++k) {
    for (std::size_t l = 0; l <= k; ++l) {
      const double product = column_product(m.rows, m.rank, p.data(), k, l);
      const bool is_unit = k == l && std::abs(product - 1.0) < kTolerance;
      const bool is_zero = std::abs(product) < (k == l ? kTolerance * kTolerance : kTolerance);
      if (!is_unit && !is_zero) return false;
    }
  }
  return true;
}

}  // namespace hearsay::gossip
