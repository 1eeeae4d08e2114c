/* SPDX-License-Identifier: Apache-2.0
 * What libhearsay_cuda.so exports. Plain C: the library is opened with dlopen and may be absent.
 * Functions return 0 or a cudaError_t; pointers named d_* are device memory of the current device.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Devices that can be used; 0 with *error set to a cudaError_t when there is none (35: no driver).
 */
int hs_cuda_device_count(int* error);

/* d_w += alpha * (d_in - d_base), n values; a null d_base means d_w itself. Exact: the bits of
 * kernels/ops/merge_ops.hpp, merge_blend without a mark. Traffic: 12 B per value, 16 with a base.
 */
int hs_cuda_merge_blend(float alpha, float* d_w, const float* d_in, const float* d_base, size_t n,
                        void* stream);

#ifdef __cplusplus
}
#endif
