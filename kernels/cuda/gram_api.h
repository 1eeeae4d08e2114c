/* SPDX-License-Identifier: Apache-2.0
 * CUDA twins of kernels/ops/gram_ops.hpp, by cuBLAS in plain fp32 (no TF32). The same bits run to
 * run on one card and cuBLAS; near the CPU's, see there. Conventions as in merge_api.h, but that an
 * error of cuBLAS is returned as 10,000 + its cublasStatus_t.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A cuBLAS handle for the current device. Making one takes a while and may wait for the device. */
int hs_cuda_gram_open(void** handle);
int hs_cuda_gram_close(void* handle);

/* d_k = x x^T, n x n fp64, full; d_x: n x p row by row. d_workspace: n * n floats. */
int hs_cuda_gram(void* handle, size_t n, size_t p, const float* d_x, float* d_workspace,
                 double* d_k, void* stream);

/* d_k = H k H. d_workspace: n + 1 doubles. Sums run along another tree than those of centre_gram:
 * the two agree to 1e-12 of the largest entry. */
int hs_cuda_centre_gram(size_t n, double* d_k, double* d_workspace, void* stream);

/* Similarity, field by field: value, HSIC of (k, l), (k, k), (l, l), 1.0 where undefined. d_out:
 * five doubles. d_workspace: hs_cuda_cka_workspace(n) bytes. cudaErrorInvalidValue for n < 2, or n
 * < 4 when debiased. */
size_t hs_cuda_cka_workspace(size_t n);
int hs_cuda_cka(size_t n, const double* d_k, const double* d_l, int debiased, void* d_workspace,
                double* d_out, void* stream);

#ifdef __cplusplus
}
#endif
