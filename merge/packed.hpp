// SPDX-License-Identifier: Apache-2.0
// What a peer says of its weights in the pool's codec (gossip/codec). From another process these
// are any bytes until a codec has decoded them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace hearsay::merge {

struct Packed {
  std::vector<std::uint8_t> bytes;
};

using PackedRef = std::shared_ptr<const Packed>;

}  // namespace hearsay::merge
