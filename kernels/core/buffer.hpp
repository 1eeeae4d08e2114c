// SPDX-License-Identifier: Apache-2.0
// Owning array aligned to 64 bytes (a cache line, an AVX-512 register), so that BLAS and the merge
// kernels take the same code path for every peer: bits must not depend on where a buffer happens to
// lie. Move-only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/core/pages.hpp"

namespace hearsay::kernels {

template <typename T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t count) : data_(allocate(count)), count_(count) {
    std::uninitialized_value_construct_n(data_.get(), count);
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::move(other.data_)), count_(std::exchange(other.count_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    data_ = std::move(other.data_);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }

  std::size_t size() const noexcept { return count_; }
  T* data() noexcept { return data_.get(); }
  const T* data() const noexcept { return data_.get(); }
  std::span<T> span() noexcept { return {data_.get(), count_}; }
  std::span<const T> span() const noexcept { return {data_.get(), count_}; }
  T& operator[](std::size_t i) noexcept { return data_[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  struct Free {
    std::size_t bytes = 0;
    void operator()(T* p) const noexcept { free_pages(p, bytes); }
  };
  static std::unique_ptr<T[], Free> allocate(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    const std::size_t bytes = count * sizeof(T);
    return {static_cast<T*>(allocate_pages(bytes)), Free{bytes}};
  }

  std::unique_ptr<T[], Free> data_;
  std::size_t count_ = 0;
};

}  // namespace hearsay::kernels
