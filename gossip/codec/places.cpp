// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/places.hpp"

namespace hearsay::gossip {

Places::Places(const kernels::Layout& layout) : size_(layout.size()) {
  for (const kernels::TensorSlot& slot : layout.slots()) {
    if (slot.count < kSmallTensor) {
      for (std::size_t i = 0; i < slot.count; ++i)
        small_.push_back(static_cast<std::uint32_t>(slot.offset + i));
      continue;
    }
    tensors_.push_back({slot.offset, slot.count});
    if (!large_.empty() && large_.back().offset + large_.back().count == slot.offset) {
      large_.back().count += slot.count;
    } else {
      large_.push_back({slot.offset, large_count_, slot.count});
    }
    large_count_ += slot.count;
  }
}

void Places::to_offsets(std::span<std::uint32_t> numbers) const {
  auto run = large_.begin();
  for (std::uint32_t& each : numbers) {
    while (each - run->number >= run->count) ++run;
    each = static_cast<std::uint32_t>(each - run->number + run->offset);
  }
}

void Places::to_numbers(std::span<std::uint32_t> offsets) const {
  auto run = large_.begin();
  for (std::uint32_t& each : offsets) {
    while (each - run->offset >= run->count) ++run;
    each = static_cast<std::uint32_t>(each - run->offset + run->number);
  }
}

}  // namespace hearsay::gossip
