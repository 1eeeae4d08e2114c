/* SPDX-License-Identifier: Apache-2.0
 * CUDA twins of kernels/ops/merge_ops.hpp. As in all *_api.h: plain C, because the library is opened
 * with dlopen and may be absent; functions return 0 or a cudaError_t; d_* is memory of the current
 * device; `stream` is a cudaStream_t and nothing waits for it.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* d_w += alpha * (d_in - d_base), n values; a null d_base means d_w itself. Exact: the bits of
 * merge_blend without a mark. Traffic: 12 B per value, 16 with a base. */
int hs_cuda_merge_blend(float alpha, float* d_w, const float* d_in, const float* d_base, size_t n,
                        void* stream);

/* As merge_blend with a mark, which moves by what d_w moves by: mark += alpha * (d_in - d_base). Nothing
 * overlaps. Exact. Traffic: 20 B per value, 24 with a base. */
int hs_cuda_merge_blend_mark(float alpha, float* d_w, const float* d_in, const float* d_base,
                             float* d_mark, size_t n, void* stream);

#ifdef __cplusplus
}
#endif
