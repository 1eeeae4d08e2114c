// SPDX-License-Identifier: Apache-2.0
// One labelled example on its way to another peer, with what is known of it, and a list of them as
// bytes (gossip/wire/format.md, "An example"). All of a pool have the same size. Invariant: what
// decode() gives names peers of this pool and classes that exist, and no example twice. Pure.
// Cost: one copy.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/core/strong_id.hpp"
#include "merge/packed.hpp"

namespace hearsay::gossip {

// What all examples of a pool have in common.
struct ExampleShape {
  std::uint32_t values = 0;  // bytes of an image
  std::uint32_t classes = 0;
  std::uint32_t examples = 0;  // ids are below
  std::uint32_t peers = 0;

  static constexpr std::size_t kHeadBytes = 56;
  std::size_t bytes() const { return kHeadBytes + values; }
};

struct Example {
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  struct Opinion {
    std::uint32_t model = kNobody;  // whose
    float confidence = 0.0f;        // in the label, 0 to 1
    friend bool operator==(const Opinion&, const Opinion&) = default;
  };

  std::uint32_t id = 0;  // where it stands in the training set
  std::uint8_t label = 0;
  std::uint16_t hops = 0;                   // times it has changed hands
  std::array<std::uint64_t, 2> visitors{};  // whose models were trained on it: PeerSet::words()
  std::array<Opinion, 4> opinions{};        // the newest, oldest first
  std::vector<std::uint8_t> image;          // [values]
};

merge::PackedRef encode(const std::vector<Example>& examples, const ExampleShape& shape);
// None where the bytes are no list of 1 to `most` examples of this shape.
std::optional<std::vector<Example>> decode(const merge::Packed& bytes, const ExampleShape& shape,
                                           std::size_t most);

}  // namespace hearsay::gossip
