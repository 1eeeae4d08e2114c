// SPDX-License-Identifier: Apache-2.0
// The arithmetic of low-rank messages (Vogels, Karimireddy, Jaggi 2019, "PowerSGD", arXiv
// 1905.13727): one step of power iteration for the directions in which a matrix is largest, and
// what a matrix is along them. All matrices row-major, sums in fp64 in a fixed order. Pure.
// Cost: 2 rows x cols x rank flop each but orthonormalise(), with 2 rows x rank^2.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hearsay::gossip {

// A tensor as a matrix: its first dimension, and all others.
struct MatrixSlot {
  std::size_t offset = 0;  // in the model
  std::size_t rows = 0, cols = 0, rank = 0;
  std::size_t count() const { return rows * cols; }
};

// p [rows x rank] = d [rows x cols] q [cols x rank].
void times_right(const MatrixSlot& m, std::span<const float> d, std::span<const float> q,
                 std::span<double> p);
// c [rank x cols] = p^T d, p [rows x rank].
void along(const MatrixSlot& m, std::span<const float> p, std::span<const float> d,
           std::span<float> c);
// d += p c.
void add_product(const MatrixSlot& m, std::span<const float> p, std::span<const float> c,
                 std::span<float> d);
// Columns of p become orthogonal, of length 1; one that the columns before it span becomes 0
// (Gram-Schmidt, twice: Giraud, Langou, Rozloznik 2005).
void orthonormalise(const MatrixSlot& m, std::span<double> p, std::span<float> out);
// Whether the columns are so, up to what fp32 leaves; not where a value is not finite.
bool is_orthonormal(const MatrixSlot& m, std::span<const float> p);

}  // namespace hearsay::gossip
