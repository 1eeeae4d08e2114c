// SPDX-License-Identifier: Apache-2.0
// Ascending positions of a whole model: a count, then a record for every 65,536 positions
// (kernels/ops/index_code.hpp). Agreement: exact, one form for a set. Cost: O(entries + tiles).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gossip/codec/message.hpp"

namespace hearsay::gossip {

// Strictly ascending (checked), below `positions`.
void put_entries(PackedBytes& bytes, std::span<const std::uint32_t> at, std::size_t positions);

// Why the bytes are refused, or empty; no more than `most` entries are accepted.
std::string read_entries(PackedReader& in, std::size_t positions, std::size_t most,
                         std::vector<std::uint32_t>& at);

// No `most` entries take more bytes, whatever they are.
std::size_t most_entry_bytes(std::size_t positions, std::size_t most);

}  // namespace hearsay::gossip
