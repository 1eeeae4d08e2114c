// SPDX-License-Identifier: Apache-2.0
// The two passes of a merge over flat fp32 parameters: judge what has arrived, then move towards
// it. Agreement class: merge_blend is exact (three separately rounded operations per value),
// sums run along kernels/core/tile_tree.hpp: the same bits for any number of threads and SIMD
// width, and for the CUDA twins. Where a value is not finite, sums are what follows from it; read
// `bad` first.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/core/workers.hpp"

namespace hearsay::kernels {

struct MergeStats {
  double displacement_sq = 0.0;  // sum (in - base)^2, fp64 over exact fp32 differences
  double weights_sq = 0.0;       // sum w^2
  double local_sq = 0.0;         // sum (w - mark)^2, 0 without a mark
  double dot = 0.0;              // sum (in - base) * (w - mark), 0 without a mark
  std::uint64_t bad = 0;         // values of `in` or `w` that are not finite
};

// w, in: n values. base: n values, or empty for w itself. mark: n values or empty. No aliasing
// demands (read only). Traffic: 8 B per value, + 4 with base, + 4 with mark.
MergeStats merge_stats(std::span<const float> w, std::span<const float> in,
                       std::span<const float> base, std::span<const float> mark);
MergeStats merge_stats(std::span<const float> w, std::span<const float> in,
                       std::span<const float> base, std::span<const float> mark, Workers& workers);

// u = alpha * (in - base); w += u; mark += u.  base empty means w; mark may be empty. w, in, base,
// mark do not overlap. alpha = 0 leaves w untouched bit for bit; alpha = 1 without base copies `in`
// (w + (in - w) is not `in` in floats). Traffic: 12 B per value, + 4 with base, + 8 with mark.
void merge_blend(float alpha, std::span<float> w, std::span<const float> in,
                 std::span<const float> base, std::span<float> mark);

// sum (a - b)^2 in fp64, same tree. b empty means zeros. Traffic: 8 B (4 B) per value.
double squared_distance(std::span<const float> a, std::span<const float> b);
double squared_distance(std::span<const float> a, std::span<const float> b, Workers& workers);

// acc += x. Traffic: 12 B per value.
void accumulate(std::span<float> acc, std::span<const float> x);

}  // namespace hearsay::kernels
