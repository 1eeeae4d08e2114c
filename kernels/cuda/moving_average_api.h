/* SPDX-License-Identifier: Apache-2.0
 * CUDA twin of kernels/ops/moving_average_ops.hpp: same averages, mask, counts and threshold. Returns 0
 * or a cudaError_t; nothing waits: the threshold of a step stays on the device for the next one.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  void* d_ma;        /* n values: fp32, or bf16 when is_bf16 */
  const float* d_g;  /* n values, without overlap */
  unsigned* d_mask;  /* null, or (n + 31) / 32 words */
  float* d_tau;      /* in: the last threshold, 0 at first; out: the next one */
  size_t n;
  float beta;
  int is_bf16, is_squared;
  unsigned long long seed, step, keep;
} HsMovingAverage;

typedef struct {
  float tau;
  unsigned unused;
  unsigned long long kept, above, bad;
  unsigned long long coarse[2048], zoom[1024];
} HsMovingResult;

/* Device memory: 256 bytes, zero before the first call; every call leaves them zero. */
size_t hs_cuda_moving_average_workspace_bytes(void);

int hs_cuda_moving_average(const HsMovingAverage* average, void* d_workspace,
                           HsMovingResult* d_result, void* stream);

#ifdef __cplusplus
}
#endif
