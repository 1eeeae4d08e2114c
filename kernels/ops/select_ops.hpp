// SPDX-License-Identifier: Apache-2.0
// Selection of the largest magnitudes as ascending entries, from an array or from the difference
// between weights and what was published of them (which is never stored). Agreement class: exact;
// the CUDA twin returns the same entries, counts and threshold for every grid.
//
// Arrays are fp32 or bf16. A bf16 value is taken as the fp32 value that it is, so a difference is
// fp32, and so are values of entries; only what is published is rounded, to the nearest bf16, and
// what that leaves out stays in the difference. bf16 knows 128 magnitudes an octave: ties are many,
// and the rule about them decides which values are sent.
//
// Order: by key = bits of |u|; of equal keys the smaller index is the larger. Values that are not
// finite and zeros are never selected; the former are counted. Denormals are ordinary values.
// Traffic: 4 B a value of an array, 8 B of a difference (bf16: half), + 12 B an entry; exact
// selection keeps about 1.1 k to 1.3 k candidates of 8 B. When a sample misjudges the threshold:
// one or two more passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/core/workers.hpp"
#include "kernels/ops/select_math.hpp"

namespace hearsay::kernels {

// index and value hold the capacity; entry j of wire tile t (65,536 values) is at
// tile_begin[t] <= j < tile_begin[t + 1]. tile_begin has ceil(n / 65536) + 1 values.
struct SelectOut {
  std::span<std::uint32_t> index;
  std::span<float> value;
  std::span<std::uint64_t> tile_begin;
};

struct Selected {
  std::uint64_t count = 0;    // entries found; written: min(count, capacity)
  std::uint64_t bad = 0;      // differences that are not finite
  std::uint32_t tau_key = 0;  // bits of the smallest magnitude selected, or of the given threshold
  bool is_repaired = false;   // the guess was wrong and the array was read again
};

// Arrays of at most 2^32 - 1 values. `published` empty: u = w. Otherwise u = w - published, and
// published is brought up to date where an entry was selected.
template <typename T>  // float or Bf16
struct SelectFromArrays {
  std::span<T> w = {};                     // written only with is_cleared
  std::span<T> published = {};             // empty, or as many as w; no overlap
  PublishKind kind = PublishKind::kDelta;  // with published
  bool is_cleared = false;                 // without published: selected values become 0
};
using SelectFrom = SelectFromArrays<float>;
using SelectFromBf16 = SelectFromArrays<Bf16>;

// The k largest, or all that are not zero when these are fewer. out holds min(k, n) entries.
// `prior`: key of a threshold known from an earlier call (Selected::tau_key), 0: take a sample.
Selected select_largest(Workers& workers, const SelectFrom& from, std::size_t k,
                        std::uint32_t prior, const SelectOut& out);
Selected select_largest(Workers& workers, const SelectFromBf16& from, std::size_t k,
                        std::uint32_t prior, const SelectOut& out);

// All with |u| >= tau > 0, ascending. Beyond the capacity nothing is written, published or cleared.
Selected select_above(Workers& workers, const SelectFrom& from, float tau, const SelectOut& out);
Selected select_above(Workers& workers, const SelectFromBf16& from, float tau,
                      const SelectOut& out);

// A threshold above which about k values lie, from a sample of 131,072 values; the smallest
// positive float when they are fewer. Relative error of the count at 1 %: about 3 %. Never 0.
float sampled_threshold(const SelectFrom& from, std::size_t k);
float sampled_threshold(const SelectFromBf16& from, std::size_t k);

// Threshold for the next round, when this one selected `count` and wanted k: log tau += gain *
// log(count / k). is_restart: off by more than a factor of two (or tau is no positive float), so
// that a sample is better.
struct NextThreshold {
  float tau = 0.0f;
  bool is_restart = false;
};
NextThreshold next_threshold(float tau, std::uint64_t count, std::uint64_t k, double gain);

}  // namespace hearsay::kernels
