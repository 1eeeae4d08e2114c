// SPDX-License-Identifier: Apache-2.0
// libhearsay_cuda.so, opened the first time that a GPU is asked for: beside the program, else where
// the loader looks. Never closed. A missing library, driver or device is one line, not a crash.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/device_api.h"

namespace hearsay::runtime {

class CudaLibrary {
 public:
  // The library `name`, opened once; null with the reason in `why`.
  static const CudaLibrary* open(const char* name, std::string& why);

  // A function of a kernels/cuda/*_api.h: function<decltype(&hs_cuda_x)>("hs_cuda_x"). Throws a
  // Fault when the library is of another build and has none.
  template <typename Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }
  const std::string& path() const noexcept { return path_; }

 private:
  CudaLibrary(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}
  void* symbol(const char* name) const;

  std::string path_;
  void* handle_;
};

inline constexpr const char* kCudaLibrary = "libhearsay_cuda.so";
inline constexpr const char* kCudaBenchLibrary = "libhearsay_cuda_bench.so";

// Devices that can be used; empty with the reason in `why`.
std::vector<HsCudaDevice> cuda_devices(std::string& why);

}  // namespace hearsay::runtime
