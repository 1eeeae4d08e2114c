// SPDX-License-Identifier: Apache-2.0
// Similarity of two Gram matrices from sums over their rows, for CPU and GPU alike. With r and s
// the row sums of K and L, tr(HKH HLH) = sum KL - 2/n <r, s> + sum r sum s / n^2: centring needs no
// pass of its own.
#pragma once

#include "kernels/core/host_device.hpp"

namespace hearsay::kernels {

// Of row i, or of all rows.
// (Without initialisers, so that arrays of them can lie in a GPU's shared memory.)
struct GramSums {
  double kl, kk, ll;                 // sums of products of entries
  double k, l;                       // sums of entries
  double rows_kl, rows_kk, rows_ll;  // products of row sums
};
// The same twice: all entries, and those off the diagonal.
struct GramPair {
  GramSums all, off;
};

struct Similarity {
  double value = 0.0;                   // 0 where it is not defined
  double kl = 0.0, kk = 0.0, ll = 0.0;  // HSIC of (K, L), (K, K), (L, L)
  int undefined = 0;  // 1: a matrix is constant up to rounding, or HSIC_1 is not positive
};

HS_HD inline void add_sums(GramSums& to, const GramSums& more) {
  to.kl += more.kl;
  to.kk += more.kk;
  to.ll += more.ll;
  to.k += more.k;
  to.l += more.l;
  to.rows_kl += more.rows_kl;
  to.rows_kk += more.rows_kk;
  to.rows_ll += more.rows_ll;
}

// A centred norm below 1e-6 of the plain one is what rounding in fp32 leaves of zero.
inline constexpr double kGramNoise = 1e-12;

HS_HD inline Similarity similarity_of(const GramPair& sums, double n, bool debiased) {
  const GramSums& s = debiased ? sums.off : sums.all;
  // Biased: sum KL - 2/n <r, s> + .../n^2, over (n - 1)^2. HSIC_1 (Song et al. 2012): the same with
  // n - 2 and (n - 1)(n - 2) on the matrices without their diagonals, over n (n - 3).
  const double rows = debiased ? 2.0 / (n - 2.0) : 2.0 / n;
  const double means = debiased ? 1.0 / ((n - 1.0) * (n - 2.0)) : 1.0 / (n * n);
  const double over = debiased ? n * (n - 3.0) : (n - 1.0) * (n - 1.0);
  const double kl = s.kl - rows * s.rows_kl + means * s.k * s.l;
  const double kk = s.kk - rows * s.rows_kk + means * s.k * s.k;
  const double ll = s.ll - rows * s.rows_ll + means * s.l * s.l;
  Similarity out{0.0, kl / over, kk / over, ll / over, 0};
  out.undefined = !(kk > kGramNoise * s.kk && ll > kGramNoise * s.ll);
  return out;  // `value` needs a square root: the caller's
}

}  // namespace hearsay::kernels
