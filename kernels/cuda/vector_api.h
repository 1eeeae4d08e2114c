/* SPDX-License-Identifier: Apache-2.0
 * CUDA twins of kernels/ops/vector_ops.hpp and of the sums of kernels/ops/merge_ops.hpp: same bits. Return 0
 * or a cudaError_t; nothing waits. Addresses that are not multiples of 16 are read value by value.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  double displacement_sq, weights_sq, local_sq, dot;
  unsigned long long bad;
} HsMergeStats;

/* Bytes of device memory for the sums over n values of any function below. Its first 256 bytes must be
 * zero before the first call; every call leaves them zero. */
size_t hs_cuda_sums_workspace_bytes(size_t n);

/* sum x * y, 8 B a value; d_y null: sum x^2, 4 B a value. */
int hs_cuda_dot(const float* d_x, const float* d_y, size_t n, void* d_workspace, double* d_result,
                void* stream);

/* sum (a - b)^2, 8 B a value; d_b null: sum a^2. */
int hs_cuda_squared_distance(const float* d_a, const float* d_b, size_t n, void* d_workspace,
                             double* d_result, void* stream);

/* merge_stats: d_base null means d_w, d_mark may be null. 8 B a value, + 4 with base, + 4 with mark. */
int hs_cuda_merge_stats(const float* d_w, const float* d_in, const float* d_base, const float* d_mark,
                        size_t n, void* d_workspace, HsMergeStats* d_result, void* stream);

/* y += a * x, no overlap, 12 B a value. */
int hs_cuda_axpy(float a, const float* d_x, float* d_y, size_t n, void* stream);

#ifdef __cplusplus
}
#endif
