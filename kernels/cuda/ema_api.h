/* SPDX-License-Identifier: Apache-2.0
 * CUDA twin of kernels/ops/ema_ops.hpp: same bits, one launch for a whole model (two beyond 1024
 * tiles of 4096 values). Returns 0 or a cudaError_t (cudaErrorInvalidValue: a type, a store or a
 * size that is not allowed); nothing waits. Spans whose addresses are not multiples of four values
 * are merged too, value by value.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HS_FP32 = 0, HS_BF16 = 1, HS_FP16 = 2 };                          /* ElementType */
enum { HS_STORE_RANDOM = 0, HS_STORE_NEAREST = 1, HS_STORE_MASTER = 2 }; /* EmaStore */

typedef struct {
  int w_type, v_type, store;
  unsigned long long seed, merge_id;
} HsEmaRule;

typedef struct {
  void* d_w;       /* n values of w_type */
  const void* d_v; /* n values of v_type; d_w, or without overlap with it */
  float* d_master; /* n values when store is HS_STORE_MASTER */
  size_t n;
  unsigned long long first; /* index of the first value in the model: a multiple of 8 */
  float alpha;
  size_t first_tile; /* set by hs_cuda_ema_tiles */
} HsEmaSpan;

typedef struct {
  double update_sq;
  float max_update;
  unsigned unused;
  unsigned long long bad, changed;
} HsEmaResult;

/* Host: sets first_tile of each span (host memory) and returns how many tiles they have together.
 */
size_t hs_cuda_ema_tiles(HsEmaSpan* spans, size_t count);

/* Bytes of device memory for that many tiles: 64 a tile and a little. Its first 256 bytes must be
 * zero before the first call; every call leaves them zero, so a workspace is cleared once. */
size_t hs_cuda_ema_workspace_bytes(size_t tiles);

/* One span, given in host memory; first_tile is ignored. */
int hs_cuda_ema(const HsEmaRule* rule, const HsEmaSpan* span, void* d_workspace,
                HsEmaResult* d_result, void* stream);

/* A table of spans in device memory, prepared by hs_cuda_ema_tiles and copied there; `tiles` is
 * what that returned. All spans have the types of the rule. `first` is not checked. */
int hs_cuda_ema_spans(const HsEmaRule* rule, const HsEmaSpan* d_spans, size_t count, size_t tiles,
                      void* d_workspace, HsEmaResult* d_result, void* stream);

#ifdef __cplusplus
}
#endif
