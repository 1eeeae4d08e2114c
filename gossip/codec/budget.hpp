// SPDX-License-Identifier: Apache-2.0
// How many weights of the large tensors one message says: a share of all of them, for which they
// compete, or a share of each tensor for itself, so that one with small changes is heard too. The
// former is what omits the least energy for as many entries; the latter keeps kLeastOfTensor of a
// tensor at least. Compute lane of one peer. Cost: one pass of selection, 4 B an entry of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gossip/codec/places.hpp"
#include "kernels/ops/select_ops.hpp"

namespace hearsay::gossip {

class Budget {
 public:
  static constexpr std::size_t kLeastOfTensor = 16;

  Budget(double share, bool is_per_tensor, const Places& places);

  void keep(double share);  // another one from here on
  std::size_t entries() const { return entries_; }

  // Appends the offsets of the largest, ascending. `from` is of the whole model, its weights of
  // small tensors no candidates (zero, or published).
  void largest(const kernels::SelectFrom& from, std::vector<std::uint32_t>& at);

 private:
  struct Part {
    std::size_t offset = 0, count = 0;  // in the model
    std::size_t candidates = 0;         // of them in large tensors
    std::size_t entries = 0;
  };

  bool is_per_tensor_;
  std::vector<Part> parts_;
  std::size_t entries_ = 0;
  std::vector<float> value_;  // work space of a selection
  std::vector<std::uint64_t> tile_begin_;
};

}  // namespace hearsay::gossip
