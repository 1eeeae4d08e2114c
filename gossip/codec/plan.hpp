// SPDX-License-Identifier: Apache-2.0
// From settings to a plan: what the peers of a pool share of their codec. Cost: one copy of the
// weights that all peers start with, for all peers of a process.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "gossip/codec/codec.hpp"
#include "gossip/codec/values.hpp"
#include "kernels/core/layout.hpp"

namespace hearsay::gossip {

struct CodecSettings {
  // ladder: one of several, by how busy the link is; nothing else is said then.
  enum class Kind { dense, topk, threshold, random, blocks, low_rank, ladder, lossless };
  Kind kind = Kind::dense;
  double share = 0.0;           // of the large tensors' weights, in (0, 1); not dense, low rank
  std::size_t block_size = 64;  // weights, 16 to 4096, a power of two; blocks
  std::size_t rank = 0;         // low_rank: directions of each matrix, 1 to 64
  std::uint32_t anchor = 32;  // lossless: messages to a partner of which one is whole; 1 to 65,536
  ValueCode values;
  bool fits_bits = false;    // instead of values.kind: as many bits as needed; mirrored, not dense
  double noise = 0.2;        // of fits_bits: noise over distance, at most; 0.01 to 10
  bool keeps_error = false;  // dense, not fp32; sparse codecs always do
  bool is_mirrored = false;  // not dense, whose messages all speak of the same weights
};

// One text for each setting, that parses to it.
std::string text_of(const CodecSettings& settings);

// `start`: the weights that every peer begins with, at most 2^32 - 1; what is not finite counts
// as 0. `seed`: of the run. Peers whose settings, layout or start differ refuse each other's
// messages.
std::shared_ptr<const CodecPlan> make_codec_plan(const CodecSettings& settings,
                                                 const kernels::Layout& layout,
                                                 std::span<const float> start, std::uint64_t seed);

}  // namespace hearsay::gossip
