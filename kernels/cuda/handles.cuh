// SPDX-License-Identifier: Apache-2.0
// Owners of CUDA things inside the library: getting one throws CudaFault with one line, letting go
// never does. Move-only. Exceptions stop at the C functions.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace hearsay::cuda {

class CudaFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void must(cudaError_t error, const std::string& what) {
  if (error != cudaSuccess) throw CudaFault(what + ": " + cudaGetErrorString(error));
}
inline void must(cublasStatus_t status, const std::string& what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw CudaFault(what + ": " + cublasLtGetStatusString(status));
}

// Zeroed at first.
template <typename T>
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t count) : count_(count) {
    if (count == 0) return;
    const std::size_t bytes = count * sizeof(T);
    const cudaError_t error = cudaMalloc(&data_, bytes);
    if (error != cudaSuccess) {
      std::size_t free = 0, all = 0;
      cudaGetLastError();  // out of memory is no lasting error
      cudaMemGetInfo(&free, &all);
      throw CudaFault("no room for " + std::to_string(bytes >> 20) + " MiB on the GPU (" +
                      std::to_string(free >> 20) + " of " + std::to_string(all >> 20) +
                      " MiB free): " + cudaGetErrorString(error));
    }
    // On a stream of this thread: waiting for the whole device would break a graph that another
    // thread is recording.
    must(cudaMemsetAsync(data_, 0, bytes, cudaStreamPerThread), "clearing GPU memory");
    must(cudaStreamSynchronize(cudaStreamPerThread), "clearing GPU memory");
  }
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceMemory() { cudaFree(data_); }
  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// Host memory that the device copies from and to by itself. Zeroed at first.
template <typename T>
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(std::size_t count) {
    must(cudaMallocHost(reinterpret_cast<void**>(&data_), count * sizeof(T)), "page-locked memory");
    for (std::size_t i = 0; i < count; ++i) data_[i] = T{};
  }
  PinnedMemory(PinnedMemory&& other) noexcept { std::swap(data_, other.data_); }
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~PinnedMemory() { cudaFreeHost(data_); }
  T* data() const noexcept { return data_; }
  T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  T* data_ = nullptr;
};

class Stream {
 public:
  Stream() { must(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "stream"); }
  ~Stream() { cudaStreamDestroy(handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const noexcept { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

// Orders streams; takes no times.
class Event {
 public:
  Event() { must(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming), "event"); }
  ~Event() { cudaEventDestroy(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const noexcept { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

}  // namespace hearsay::cuda
