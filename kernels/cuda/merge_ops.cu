// SPDX-License-Identifier: Apache-2.0
// The CUDA twins of merge_blend: one streaming pass, grid-stride over float4 where all arrays are
// 16-byte aligned, scalar otherwise. Elementwise, so the result does not depend on the grid.
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/merge_api.h"

namespace {

using namespace hearsay::cuda;

__device__ float blended(float alpha, float w, float in, float base) {
  return w + alpha * (in - base);  // three roundings: --fmad=false
}

__global__ void blend_scalar(float alpha, float* w, const float* in, const float* base, size_t n) {
  for (size_t i = blockIdx.x * size_t{kBlock} + threadIdx.x; i < n;
       i += size_t{kBlock} * gridDim.x) {
    w[i] = blended(alpha, w[i], in[i], base[i]);
  }
}

__global__ void blend_vector(float alpha, float4* w, const float4* in, const float4* base,
                             size_t n4) {
  for (size_t i = blockIdx.x * size_t{kBlock} + threadIdx.x; i < n4;
       i += size_t{kBlock} * gridDim.x) {
    const float4 x = __ldcs(in + i), b = base[i];
    float4 v = w[i];
    v.x = blended(alpha, v.x, x.x, b.x);
    v.y = blended(alpha, v.y, x.y, b.y);
    v.z = blended(alpha, v.z, x.z, b.z);
    v.w = blended(alpha, v.w, x.w, b.w);
    w[i] = v;
  }
}

// w becomes `in` itself where `copies`: w + (in - w) is not `in` in floats. A null base means w.
__device__ void blend_one(float alpha, bool copies, float& w, float in, float base, float& mark) {
  const float u = alpha * (in - base);  // --fmad=false: rounded alone, as the sums below
  w = copies ? in : w + u;
  mark += u;
}

__global__ void blend_mark_scalar(float alpha, bool copies, float* w, const float* in,
                                  const float* base, float* mark, size_t n) {
  for (size_t i = blockIdx.x * size_t{kBlock} + threadIdx.x; i < n;
       i += size_t{kBlock} * gridDim.x) {
    blend_one(alpha, copies, w[i], in[i], base != nullptr ? base[i] : w[i], mark[i]);
  }
}

__global__ void blend_mark_vector(float alpha, bool copies, float4* w, const float4* in,
                                  const float4* base, float4* mark, size_t n4) {
  for (size_t i = blockIdx.x * size_t{kBlock} + threadIdx.x; i < n4;
       i += size_t{kBlock} * gridDim.x) {
    const float4 x = __ldcs(in + i);
    float4 v = w[i], m = mark[i];
    const float4 b = base != nullptr ? base[i] : v;
    blend_one(alpha, copies, v.x, x.x, b.x, m.x);
    blend_one(alpha, copies, v.y, x.y, b.y, m.y);
    blend_one(alpha, copies, v.z, x.z, b.z, m.z);
    blend_one(alpha, copies, v.w, x.w, b.w, m.w);
    w[i] = v;
    mark[i] = m;
  }
}

}  // namespace

extern "C" int hs_cuda_merge_blend(float alpha, float* d_w, const float* d_in, const float* d_base,
                                   size_t n, void* stream) {
  if (alpha == 0.0f || n == 0) return 0;
  cudaStream_t on = as_stream(stream);
  if (alpha == 1.0f && d_base == nullptr) {  // w + (in - w) is not `in` in floats
    return cudaMemcpyAsync(d_w, d_in, n * sizeof(float), cudaMemcpyDeviceToDevice, on);
  }
  const float* base = d_base != nullptr ? d_base : d_w;
  cudaError_t result = cudaSuccess;
  const int grid = multiprocessors(result) * 8;
  if (result != cudaSuccess) return result;
  const size_t n4 = is_aligned16(d_w) && is_aligned16(d_in) && is_aligned16(base) ? n / 4 : 0;
  if (n4 > 0) {
    blend_vector<<<grid, kBlock, 0, on>>>(alpha, reinterpret_cast<float4*>(d_w),
                                          reinterpret_cast<const float4*>(d_in),
                                          reinterpret_cast<const float4*>(base), n4);
  }
  const int rest_grid = n4 > 0 ? 1 : grid;
  if (n4 * 4 < n) {
    blend_scalar<<<rest_grid, kBlock, 0, on>>>(alpha, d_w + n4 * 4, d_in + n4 * 4, base + n4 * 4,
                                               n - n4 * 4);
  }
  return cudaGetLastError();
}

extern "C" int hs_cuda_merge_blend_mark(float alpha, float* d_w, const float* d_in,
                                        const float* d_base, float* d_mark, size_t n,
                                        void* stream) {
  if (alpha == 0.0f || n == 0) return 0;
  const bool copies = alpha == 1.0f && d_base == nullptr;
  cudaStream_t on = as_stream(stream);
  cudaError_t result = cudaSuccess;
  const int grid = multiprocessors(result) * 8;
  if (result != cudaSuccess) return result;
  const bool is_aligned = is_aligned16(d_w) && is_aligned16(d_in) && is_aligned16(d_mark) &&
                          (d_base == nullptr || is_aligned16(d_base));
  const size_t n4 = is_aligned ? n / 4 : 0, done = 4 * n4;
  if (n4 > 0) {
    blend_mark_vector<<<grid, kBlock, 0, on>>>(
        alpha, copies, reinterpret_cast<float4*>(d_w), reinterpret_cast<const float4*>(d_in),
        reinterpret_cast<const float4*>(d_base), reinterpret_cast<float4*>(d_mark), n4);
  }
  const int rest_grid = n4 > 0 ? 1 : grid;
  if (done < n) {
    const float* base = d_base != nullptr ? d_base + done : nullptr;
    blend_mark_scalar<<<rest_grid, kBlock, 0, on>>>(alpha, copies, d_w + done, d_in + done, base,
                                                    d_mark + done, n - done);
  }
  return cudaGetLastError();
}
