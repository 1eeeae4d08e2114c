// SPDX-License-Identifier: Apache-2.0
// The words of --codec:
//   raw                        weights as they are: no codec
//   auto                       raw, int8, int4 or blocks, by how busy the link is
//   fp32, bf16, int8, int4     every weight; int8:block=128 (values a scale: 32, 64, 128, 256)
//   lloyd3, lloyd2, sign       the same in 3, 2, 1 bits
//   topk:1%, threshold:1%      the weights that changed most; exact, or by a threshold in one pass
//   ma:1%,beta=0.9             the largest moving averages of changes; rule=literal: all changes
//                              above the averages' threshold, by their sign
//   score:1%,beta=0.9          the largest changes times a moving average of steps
//   topk:1%,per=tensor         the share of each tensor for itself, not of all; also ma and score
//   randk:1%                   random weights
//   blocks:0.0625,size=64      random aligned blocks of 16 to 4096 weights, each once a round
//   lowrank:4                  each matrix along so many directions, the rest whole
//   lossless:anchor=32         the bf16 model to the bit: what differs from what the partner holds
//   +fp32 +bf16 +int8 and so on
//                              how the chosen weights are written (fp32)
//   +auto                      in 2, 3, 4 or 8 bits, as the distance between peers asks for
//   +sr, +ef                   rounded at random, without bias (dense int8, int4); to nearest, and
//                              the error is remembered and said later (the rest, dense bf16 not)
//   +qm:ef,b=0.7               each message goes b of the way; on_support, literal: smoothing.hpp
//   +density:slow=0.1%,fast=1% more weights where the loss stands still, fewer where it falls
//   +mirror                    an answer speaks of the weights that it was asked about
// All functions throw UsageError on what they do not know.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "gossip/codec/plan.hpp"
#include "gossip/wire/header.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

std::optional<gossip::CodecSettings> codec_settings(const Spec& codec);  // nullopt: raw

// nullptr: raw. `start`: the weights that every peer begins with.
std::shared_ptr<const gossip::CodecPlan> build_codec(const Spec& codec,
                                                     const kernels::Layout& layout,
                                                     std::span<const float> start,
                                                     std::uint64_t seed);

// The codec of a pool: of --protocol choco, that of differences between published copies; of
// synchronous baselines, that of gradients or of what a round has done.
std::shared_ptr<const gossip::CodecPlan> build_pool_codec(const RunConfig& config,
                                                          const kernels::Layout& layout,
                                                          std::span<const float> start);

// What partners may send in a pool of this codec; nullptr: raw.
gossip::wire::CodecBounds bounds_of(const gossip::CodecPlan* codec);

}  // namespace hearsay::runtime
