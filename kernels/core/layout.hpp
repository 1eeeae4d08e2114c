// SPDX-License-Identifier: Apache-2.0
// Which slice of a flat parameter buffer is which tensor: the table that makes a model one span.
// Names follow PyTorch ("0.weight"), tensors are row-major and lie one after the other without
// gaps, in model order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hearsay::kernels {

struct TensorSlot {
  std::string name;
  std::vector<std::size_t> shape;  // row-major
  std::size_t offset = 0;          // in values, from the start of the flat buffer
  std::size_t count = 0;           // product of shape
};

class Layout {
 public:
  // Appends a tensor behind the last one and returns its offset.
  std::size_t add(std::string name, std::vector<std::size_t> shape);

  std::size_t size() const noexcept { return size_; }  // values in the flat buffer
  const std::vector<TensorSlot>& slots() const noexcept { return slots_; }
  // Name of the first tensor in which the two differ, or an empty string when they are equal.
  std::string first_difference(const Layout& other) const;

 private:
  std::vector<TensorSlot> slots_;
  std::size_t size_ = 0;
};

}  // namespace hearsay::kernels
