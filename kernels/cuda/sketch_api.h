/* SPDX-License-Identifier: Apache-2.0
 * CUDA twins of kernels/ops/sketch_ops.hpp: the same bits for finite values, whatever the grid.
 * cudaErrorInvalidValue for a plan that is not valid there. d_workspace: as many bytes as the query
 * says, aligned to 16. Conventions as in merge_api.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* d_y: rows x buckets. Fast where d_x is aligned to 16 bytes. Traffic: 4 B per value; the workspace
 * is written and read once, 16.8 MB a row of 16,384 buckets. */
size_t hs_cuda_sketch_workspace(uint32_t buckets, uint32_t rows, size_t n);
int hs_cuda_sketch(uint32_t buckets, uint32_t rows, uint64_t seed, const float* d_x, size_t n,
                   void* d_workspace, float* d_y, void* stream);

/* d_kept: `kept` <= 4096 coordinates, those of srht_coordinates for the bits of srht. */
size_t hs_cuda_srht_workspace(size_t n);
int hs_cuda_srht(uint64_t seed, const uint16_t* d_kept, uint32_t kept, const float* d_x, size_t n,
                 void* d_workspace, float* d_y, void* stream);

#ifdef __cplusplus
}
#endif
