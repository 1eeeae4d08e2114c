// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <cstdio>
#include <string>

#include "kernels/cuda/architectures.hpp"
#include "kernels/cuda/device_api.h"

extern "C" int hs_cuda_device_count(int* error) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  *error = static_cast<int>(result);
  return result == cudaSuccess ? count : 0;
}

extern "C" int hs_cuda_device_facts(int device, HsCudaDevice* facts) {
  cudaDeviceProp properties;
  cudaError_t result = cudaGetDeviceProperties(&properties, device);
  if (result != cudaSuccess) return result;
  *facts = HsCudaDevice{};
  std::snprintf(facts->name, sizeof facts->name, "%s", properties.name);
  facts->compute_major = properties.major;
  facts->compute_minor = properties.minor;
  facts->multiprocessors = properties.multiProcessorCount;
  facts->l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  facts->memory_bytes = properties.totalGlobalMem;
  facts->has_code =
      hearsay::cuda::has_code_for(HEARSAY_CUDA_CODE, properties.major, properties.minor);
  return cudaDeviceGetPCIBusId(facts->bus_id, sizeof facts->bus_id, device);
}

extern "C" const char* hs_cuda_error_text(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

extern "C" const char* hs_cuda_architectures(void) {
  static const std::string text = hearsay::cuda::architectures_text(HEARSAY_CUDA_CODE);
  return text.c_str();
}
