// SPDX-License-Identifier: Apache-2.0
// How alike are two sets of features of the same n samples, or n sketches among themselves: Gram
// matrices and linear CKA (Kornblith et al. 2019). Products in fp32 by BLAS over pieces of 8192
// columns, pieces and all sums in fp64. Agreement: bit-identical run to run for one BLAS and core
// type; CPU and GPU agree to 1e-5 of sqrt(K_ii K_jj).
#pragma once

#include <cstddef>
#include <span>

#include "kernels/ops/gram_math.hpp"

namespace hearsay::kernels {

inline constexpr std::size_t kGramPiece = 8192;  // columns summed in fp32

// k = x x^T, n x n, full. x: n x p row by row. Work: n^2 p flops; traffic: 4 n p B, + 12 n^2 B for
// each piece of columns.
void gram(std::size_t n, std::size_t p, std::span<const float> x, std::span<double> k);

// k = H k H with H = I - 1/n: what centring the columns of x would have given.
void centre_gram(std::size_t n, std::span<double> k);

// Linear CKA from two symmetric Gram matrices that are not centred; biased (n >= 2) or by HSIC_1 of
// Song et al. 2012 (n >= 4), whose mean does not depend on n. Traffic: 16 n^2 B.
Similarity cka(std::size_t n, std::span<const double> k, std::span<const double> l, bool debiased);

}  // namespace hearsay::kernels
