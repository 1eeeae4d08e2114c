// SPDX-License-Identifier: Apache-2.0
// What codecs make of weights that move: bytes of a message, beside what its positions and values
// take by entropy; time to encode and to decode; every decoded value against the weight; and how
// far off a listener is that has heard every message. Three ways to move: `even`, normal steps
// alike everywhere; `clustered`, runs of 512 weights of which some move much more than others;
// `aligned`, weights as a square matrix that moves along four directions, each half as much as the
// one before, and by a tenth of that anywhere. Low-rank messages are of that matrix. Or the weights
// go from one given model to the next, over and over: masks as training makes them.
// Cost: 36 B a weight, about a second a row at 1e6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/layout.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

enum class Drift { even, clustered, aligned };
std::string name_of(Drift drift);
inline constexpr Drift kDrifts[]{Drift::even, Drift::clustered, Drift::aligned};

struct CodecRow {
  std::string codec;  // canonical
  std::string drift;
  std::size_t n = 0;
  double message_bytes = 0.0, said = 0.0;  // means a message; weights that it says something of
  // A weight said: H(rho) / rho where chosen among the tensors of 1024 and more + its value; of a
  // matrix of rank r, which says of all weights, the r (rows + columns - r) numbers that it has.
  double bound_bits = 0.0;
  double error = 0.0;  // at the end: |heard - w| / |w - start|, 2-norms
  double encode_p50_s = 0.0, decode_p50_s = 0.0;
  std::uint64_t wrong = 0;
  double bits_of_said() const { return 8.0 * message_bytes / said; }
  double bits_a_weight() const { return 8.0 * message_bytes / static_cast<double>(n); }
  double weights_per_s(double seconds) const { return static_cast<double>(n) / seconds; }
};

// The specs that are measured when none is given.
const std::vector<std::string>& bench_codec_specs();

// `codec` is not raw; n >= 2048.
CodecRow bench_codec(const Spec& codec, std::size_t n, Drift drift);

struct ModelWalk {
  std::string name;
  kernels::Layout layout;
  std::vector<std::vector<float>> models;  // of that layout, two or more; the first is the start
};

// `codec` is neither raw nor low-rank.
CodecRow bench_codec(const Spec& codec, const ModelWalk& walk);

}  // namespace hearsay::runtime
