// SPDX-License-Identifier: Apache-2.0
// The merge of one model into another in one pass: w += alpha * (v - w), with the norm and the
// largest magnitude of the update, how many values were not finite, and how many changed.
// Element types fp32, bf16, fp16 in any mix. Agreement class D0: the same bits for any number of
// threads and for the CUDA twin; sums run along kernels/core/tile_tree.hpp.
//
// A value: u = alpha * (v - w), w' = w + u in fp32, three roundings. alpha = 0 leaves w untouched
// bit for bit; alpha = 1 stores v (w + (v - w) is not v in floats). A value whose u is not finite,
// or whose w' exceeds the largest finite value of w's type, is left as it is and counted in `bad`.
// Small alphas do not move a 16-bit w that is rounded to nearest: store at random, or keep an fp32
// master. Bytes a value: w is read and written, v read, master read and written: 12 for fp32 <-
// fp32, 10 for fp32 <- bf16, 6 for bf16 <- bf16, 12 for bf16 with a master <- bf16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/core/workers.hpp"

namespace hearsay::kernels {

enum class ElementType : std::uint8_t { fp32, bf16, fp16 };

enum class EmaStore : std::uint8_t {
  random,   // 16-bit w: up or down at random, right on average; fp32 w: as it is
  nearest,  // 16-bit w: to nearest even; updates under half a step are lost
  master,   // 16-bit w: the merge is done on `master`, w is its rounding to nearest even
};

struct EmaRule {
  ElementType w_type = ElementType::fp32, v_type = ElementType::fp32;
  EmaStore store = EmaStore::random;
  std::uint64_t seed = 0, merge_id = 0;  // random numbers: Philox of (seed; index / 8, merge_id)
};

struct EmaSpan {
  void* w = nullptr;        // n values of w_type
  const void* v = nullptr;  // n values of v_type; w itself, or without overlap with w
  float* master = nullptr;  // n values when store is master
  std::size_t n = 0;
  std::uint64_t first = 0;  // index of the first value in the model: a multiple of 8
  float alpha = 0.0f;
};

struct EmaResult {
  double update_sq = 0.0;     // sum u^2 over exact fp32 u, before rounding to w's type
  float max_update = 0.0f;    // max |u|
  std::uint64_t bad = 0;      // left out: not finite
  std::uint64_t changed = 0;  // stored bits of w that are not what they were
};

// All spans in one call, each cut into tiles of its own. Allocates 8 bytes per 4096 values.
EmaResult ema(std::span<const EmaSpan> spans, const EmaRule& rule, Workers& workers);

// One fp32 span.
EmaResult ema(float alpha, std::span<float> w, std::span<const float> v, Workers& workers);

}  // namespace hearsay::kernels
