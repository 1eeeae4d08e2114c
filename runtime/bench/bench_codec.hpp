// SPDX-License-Identifier: Apache-2.0
// What codecs make of weights that move: bytes of a message, beside what its positions and values
// take by entropy; time to encode and to decode; every decoded value against the weight. Two ways
// to move: `even`, normal steps alike everywhere; `clustered`, runs of 512 weights of which some
// move much more than others. Cost: 28 B a weight, about a second a row at 1e6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

struct CodecRow {
  std::string codec;  // canonical
  std::string drift;  // even, clustered
  std::size_t n = 0;
  double message_bytes = 0.0, said = 0.0;  // means a message; weights that it says something of
  double bound_bits = 0.0;                 // a weight said: H(rho) / rho where chosen + its value
  double encode_p50_s = 0.0, decode_p50_s = 0.0;
  std::uint64_t wrong = 0;
  double bits_of_said() const { return 8.0 * message_bytes / said; }
  double bits_a_weight() const { return 8.0 * message_bytes / static_cast<double>(n); }
  double weights_per_s(double seconds) const { return static_cast<double>(n) / seconds; }
};

// The specs that are measured when none is given.
const std::vector<std::string>& bench_codec_specs();

// `codec` is not raw; n >= 2048.
CodecRow bench_codec(const Spec& codec, std::size_t n, bool is_clustered);

}  // namespace hearsay::runtime
