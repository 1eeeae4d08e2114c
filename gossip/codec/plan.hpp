// SPDX-License-Identifier: Apache-2.0
// From settings to a plan: what the peers of a pool share of their codec. Cost: one copy of the
// weights that all peers start with, for all peers of a process.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "gossip/codec/codec.hpp"
#include "gossip/codec/settings.hpp"
#include "kernels/core/layout.hpp"

namespace hearsay::gossip {

// `start`: the weights that every peer begins with, at most 2^32 - 1; what is not finite counts
// as 0. `seed`: of the run. Peers whose settings, layout or start differ refuse each other's
// messages.
std::shared_ptr<const CodecPlan> make_codec_plan(const CodecSettings& settings,
                                                 const kernels::Layout& layout,
                                                 std::span<const float> start, std::uint64_t seed);

}  // namespace hearsay::gossip
