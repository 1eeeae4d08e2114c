// SPDX-License-Identifier: Apache-2.0
// What all codecs of a plan share, and do not change. Cost: 4 B a weight.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gossip/codec/places.hpp"
#include "gossip/codec/values.hpp"

namespace hearsay::gossip {

struct CodecGround {
  ValueCode code;
  std::uint64_t seed = 0;
  std::uint32_t tag = 0;     // of spec, layout and start: in every message
  std::vector<float> start;  // the weights that all peers began with; finite
  Places places;
};

using CodecGroundRef = std::shared_ptr<const CodecGround>;

}  // namespace hearsay::gossip
