// SPDX-License-Identifier: Apache-2.0
// Random projections of long arrays to a few thousand numbers, without a stored matrix. Both are
// linear up to rounding, keep inner products in the mean, and have a variance of at most
// (|x|^2 |y|^2 + <x, y>^2) / m over the seeds. Agreement: exact, the same bits on CPU and GPU for
// any grid and number of threads, for finite x.
//
// Rotated CountSketch: tiles of m values get random signs, are rotated by a random multiple of 8,
// their eights permuted by l ^ a, and added up. Values of one tile never meet in a bucket, values
// of two tiles do with probability 1 / m. Rows have signs of their own and share the rotations:
// given those, the errors of two rows are uncorrelated, so that the mean over R rows has 1 / R of
// the variance, and x is read once.
//
// Block SRHT (Balabanov, Beaupere, Grigori, Lederer 2022): per block of 4096, random signs, a
// Walsh-Hadamard transform, random signs again, added up; of the 4096 sums m are kept, scaled by
// 1 / sqrt(m). Mixes within a block, at 12 additions a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/workers.hpp"
#include "kernels/ops/sketch_math.hpp"

namespace hearsay::kernels {

struct SketchPlan {
  std::uint32_t buckets = 16384;  // m: a multiple of 1024 up to 65,536
  std::uint32_t rows = 1;         // 1 to 4
  std::uint64_t seed = 0;
};

bool is_valid(const SketchPlan& plan);
inline std::size_t sketch_values(const SketchPlan& plan) {
  return std::size_t{plan.buckets} * plan.rows;
}

// y: rows x buckets, row by row. Traffic: 4 B per value, + 8 * 256 * rows * buckets B at most.
void sketch(const SketchPlan& plan, std::span<const float> x, std::span<float> y, Workers& workers);

// Estimate of <x, y> from their sketches by one plan: the mean over the rows, fp64.
double sketch_dot(const SketchPlan& plan, std::span<const float> a, std::span<const float> b);

inline constexpr std::uint32_t kSrhtBlock = 4096;

// The m <= 4096 coordinates that a seed keeps, ascending.
std::vector<std::uint16_t> srht_coordinates(std::uint64_t seed, std::uint32_t kept);

// y: y.size() <= 4096 coordinates, srht_coordinates(seed, y.size()). Traffic: 4 B per value.
void srht(std::uint64_t seed, std::span<const float> x, std::span<float> y, Workers& workers);

}  // namespace hearsay::kernels
