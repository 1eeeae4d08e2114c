/* SPDX-License-Identifier: Apache-2.0
 * CUDA twins of kernels/ops/quantise_ops.hpp: the same bytes. Conventions as in merge_api.h;
 * cudaErrorInvalidValue for a bad spec, a `first` that is no multiple of the block, or scales that
 * are not aligned to their size.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* QuantiseSpec, field by field. */
typedef struct {
  uint32_t bits, block;
  uint32_t bf16_scales, stochastic; /* 0 or 1 */
  uint64_t seed, stream;
} HsQuantiseSpec;

/* n values from global index `first`. d_residual: null, n values, or d_x itself. *d_bad grows by
 * the values that are not finite (the caller sets it to 0 before). Fast where d_x and d_residual
 * are aligned to 16 bytes and d_q to 8. Traffic: 4 + bits/8 + (4 or 2)/block B per value, + 4 with
 * a residual. */
int hs_cuda_quantise(const HsQuantiseSpec* spec, uint64_t first, const float* d_x, size_t n,
                     uint8_t* d_q, void* d_scales, float* d_residual, unsigned long long* d_bad,
                     void* stream);

/* d_y = scale * level. Traffic as above. */
int hs_cuda_dequantise(const HsQuantiseSpec* spec, const uint8_t* d_q, const void* d_scales,
                       float* d_y, size_t n, void* stream);

#ifdef __cplusplus
}
#endif
