// SPDX-License-Identifier: Apache-2.0
// Which weights of a model a sparse message always says (those of tensors under kSmallTensor
// values: biases, norms), and which it chooses from. The latter are numbered as if they lay one
// after the other; messages use these numbers, so that no message can name a weight twice.
// Cost: 4 B a weight of a small tensor; O(entries + tensors) to translate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/layout.hpp"

namespace hearsay::gossip {

inline constexpr std::size_t kSmallTensor = 1024;

class Places {
 public:
  explicit Places(const kernels::Layout& layout);

  const std::vector<std::uint32_t>& small() const noexcept { return small_; }  // their offsets
  std::size_t large_count() const noexcept { return large_count_; }
  std::size_t size() const noexcept { return size_; }  // of the model

  struct Tensor {
    std::size_t offset = 0, count = 0;
  };
  const std::vector<Tensor>& tensors() const noexcept { return tensors_; }  // the large ones

  // Ascending numbers of weights in large tensors to offsets in the model, and back.
  void to_offsets(std::span<std::uint32_t> numbers) const;
  void to_numbers(std::span<std::uint32_t> offsets) const;

 private:
  struct Run {
    std::size_t offset = 0;  // in the model
    std::size_t number = 0;  // of its first weight
    std::size_t count = 0;
  };
  std::vector<std::uint32_t> small_;
  std::vector<Run> large_;  // ascending, neighbours as one
  std::vector<Tensor> tensors_;
  std::size_t large_count_ = 0, size_ = 0;
};

}  // namespace hearsay::gossip
