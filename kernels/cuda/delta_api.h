/* SPDX-License-Identifier: Apache-2.0
 * CUDA twin of kernels/ops/delta_ops.hpp: same bits. Returns 0 or a cudaError_t; nothing waits.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const float* d_w;
  float* d_anchor;
  float* d_momentum;     /* or null */
  const float* d_error;  /* or null */
  float* d_out;          /* or null; may be d_error */
  size_t n;
  float mu;
  int is_nesterov;       /* needs momentum: else cudaErrorInvalidValue */
  int is_refreshing;
} HsDelta;

typedef struct {
  double update_sq;
  float max_update;
  unsigned unused;
  unsigned long long bad;
  unsigned long long histogram[2048];
} HsDeltaResult;

/* Device memory for n values. Its first 256 bytes must be zero before the first call; every call leaves
 * them zero. */
size_t hs_cuda_delta_workspace_bytes(size_t n);

int hs_cuda_delta(const HsDelta* delta, void* d_workspace, HsDeltaResult* d_result, void* stream);

#ifdef __cplusplus
}
#endif
