// SPDX-License-Identifier: Apache-2.0
// What there is to say about a codec, and its one text. Values only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "gossip/codec/average_support.hpp"
#include "gossip/codec/density.hpp"
#include "gossip/codec/smoothing.hpp"
#include "gossip/codec/values.hpp"

namespace hearsay::gossip {

struct CodecSettings {
  // ladder: one of several, by how busy the link is; nothing else is said then.
  enum class Kind { dense, topk, threshold, average, random, blocks, low_rank, ladder, lossless };
  Kind kind = Kind::dense;
  double share = 0.0;           // of the large tensors' weights, in (0, 1); not dense, low rank
  bool is_per_tensor = false;   // the share, of each; topk, and average but for its literal rule
  AverageRule average;          // average
  std::size_t block_size = 64;  // weights, 16 to 4096, a power of two; blocks
  std::size_t rank = 0;         // low_rank: directions of each matrix, 1 to 64
  std::uint32_t anchor = 32;  // lossless: messages to a partner of which one is whole; 1 to 65,536
  ValueCode values;
  bool fits_bits = false;    // instead of values.kind: as many bits as needed; mirrored, not dense
  double noise = 0.2;        // of fits_bits: noise over distance, at most; 0.01 to 10
  bool keeps_error = false;  // dense, not fp32; sparse codecs always do
  bool is_mirrored = false;  // not dense, whose messages all speak of the same weights
  SmoothingRule smoothing;   // sparse ones in int8 or int4; literal: that name positions
  std::optional<DensityRule> density;  // of those that name positions, not with fits_bits

  bool names_positions() const {
    return kind == Kind::topk || kind == Kind::threshold || kind == Kind::average;
  }
};

// One text for each setting, that parses to it.
std::string text_of(const CodecSettings& settings);

}  // namespace hearsay::gossip
