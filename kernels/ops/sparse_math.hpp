// SPDX-License-Identifier: Apache-2.0
// One sparse update, shared by CPU and GPU: three separately rounded operations at most, and a
// weight that would not be finite afterwards stays as it was.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/host_device.hpp"

namespace hearsay::kernels {

enum class SparseKind : int { kDelta = 0, kAbsolute = 1 };
enum class MergeNorm : int { kNone = 0, kPresentWeight = 1 };

inline constexpr std::size_t kSparseTile = 256;       // entries of one partial sum, one a lane
inline constexpr std::size_t kMergeTile = 4096;       // weights of one partial sum of several lists
inline constexpr std::size_t kSparseLanes = 256;      // lane l sums terms l, l + 256, ... in order
inline constexpr std::size_t kSparseTopLanes = 1024;  // of the sum over tiles, likewise

struct SparseMove {
  float w = 0.0f, u = 0.0f;
  bool is_bad = false;  // then w is unchanged and u is 0
};

HS_HD inline bool is_finite_value(float x) { return x - x == 0.0f; }

// x - x is 0 or NaN: one test for both.
HS_HD inline bool is_move_finite(float u, float moved) { return (u - u) + (moved - moved) == 0.0f; }

// delta: u = alpha * x. absolute: u = alpha * (x - w), but alpha = 1 takes x itself.
HS_HD inline SparseMove sparse_move(SparseKind kind, float alpha, float w, float x) {
  const float u = kind == SparseKind::kDelta ? alpha * x : alpha * (x - w);
  const float moved = kind == SparseKind::kAbsolute && alpha == 1.0f ? x : w + u;
  const bool is_good = is_move_finite(u, moved);
  return {is_good ? moved : w, is_good ? u : 0.0f, !is_good};
}

}  // namespace hearsay::kernels
