// SPDX-License-Identifier: Apache-2.0
// Tiles on their way from global into shared memory by the bulk copy engine of compute capability
// 9.0 and up (cp.async.bulk, PTX ISA 8.0), one barrier a stage: no registers are held while data
// is under way, so that a multiprocessor keeps its 192 KiB of shared memory in flight. Older
// devices, and tiles that are cut off or not aligned, are loaded by the threads themselves.
#pragma once

#include "kernels/cuda/launch.cuh"

namespace hearsay::cuda {

inline constexpr size_t kStageBytes = 65'536;  // of a block: three blocks a multiprocessor of 9.0
inline constexpr int kStageBlocks = 3;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
inline constexpr bool kHasBulkCopies = true;
#else
inline constexpr bool kHasBulkCopies = false;
#endif

template <int kStages>
class Stages {
 public:
  // Whole block. `barriers` lies in shared memory.
  __device__ explicit Stages(uint64_t (&barriers)[kStages]) : barriers_(barriers) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
      for (int s = 0; s < kStages; ++s) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(barriers_ + s)));
      }
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
#endif
  }

  // One thread, once everyone has left what was in the stage: the bytes of all copies that follow.
  __device__ void expect(int stage, uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barriers_ + stage)),
        "r"(bytes)
        : "memory");
#endif
  }
  // Addresses and bytes are multiples of 16.
  __device__ void copy(int stage, void* to, const void* from, uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(address(to)),
        "l"(from), "r"(bytes), "r"(address(barriers_ + stage))
        : "memory");
#endif
  }
  // Whole block: until everything that was expected has come.
  __device__ void wait(int stage) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra AGAIN;\n}" ::"r"(address(barriers_ + stage)),
        "r"(phases_ >> stage & 1u)
        : "memory");
    phases_ ^= 1u << stage;
#endif
  }

  // A thread that has filled a stage itself, before everyone meets: copies come after that.
  __device__ void filled_by_hand() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  }

 private:
  __device__ static uint32_t address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
  }
  uint64_t* barriers_;
  uint32_t phases_ = 0;
};

// Host side: does the current device have them?
inline bool has_bulk_copies(cudaError_t& error) {
  int device = 0, major = 0;
  error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  }
  return error == cudaSuccess && major >= 9;
}

// Host side, before a launch that uses kStageBytes of dynamic shared memory.
template <typename Kernel>
cudaError_t allow_stages(Kernel kernel) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                              cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(kStageBytes));
}

}  // namespace hearsay::cuda
