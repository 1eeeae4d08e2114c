// SPDX-License-Identifier: Apache-2.0
// Device memory of tests and benches, and copies that must succeed. Outside the guarded span lie
// kGuard values of poison on both sides, so that a kernel that writes beside its output is caught.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace hearsay::kernels {

inline void must(int error, const char* what) {
  if (error != 0) {
    throw std::runtime_error(std::string(what) + ": " +
                             cudaGetErrorString(static_cast<cudaError_t>(error)));
  }
}

template <typename T>
class DeviceArray {
 public:
  static constexpr std::size_t kGuard = 64;  // values on each side
  static constexpr unsigned char kPoison = 0xA5;

  // `shift` values after an aligned address, to try what is not aligned. Contents: poison.
  explicit DeviceArray(std::size_t count, std::size_t shift = 0) : count_(count), shift_(shift) {
    must(cudaMalloc(&memory_, bytes()), "cudaMalloc");
    poison();
  }
  explicit DeviceArray(std::span<const T> host, std::size_t shift = 0)
      : DeviceArray(host.size(), shift) {
    copy_from(host);
  }
  explicit DeviceArray(const std::vector<T>& host, std::size_t shift = 0)
      : DeviceArray(std::span<const T>(host), shift) {}
  ~DeviceArray() { cudaFree(memory_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return static_cast<T*>(memory_) + kGuard + shift_; }
  std::size_t size() const { return count_; }
  void poison() { must(cudaMemset(memory_, kPoison, bytes()), "cudaMemset"); }
  void copy_from(std::span<const T> host) {
    must(cudaMemcpy(data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice),
         "to GPU");
  }
  std::vector<std::remove_const_t<T>> host() const {
    std::vector<T> values(count_);
    must(cudaMemcpy(values.data(), data(), count_ * sizeof(T), cudaMemcpyDeviceToHost), "from GPU");
    return values;
  }
  // Is the poison on both sides as it was?
  bool guards_hold() const {
    std::vector<unsigned char> all(bytes());
    must(cudaMemcpy(all.data(), memory_, bytes(), cudaMemcpyDeviceToHost), "from GPU");
    const std::size_t begin = (kGuard + shift_) * sizeof(T), end = begin + count_ * sizeof(T);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((i < begin || i >= end) && all[i] != kPoison) return false;
    }
    return true;
  }

 private:
  std::size_t bytes() const { return (2 * kGuard + shift_ + count_) * sizeof(T); }
  std::size_t count_, shift_;
  void* memory_ = nullptr;
};

}  // namespace hearsay::kernels
