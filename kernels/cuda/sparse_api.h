/* SPDX-License-Identifier: Apache-2.0
 * CUDA twins of kernels/ops/sparse_ops.hpp, bit for bit, sums included; the conventions are those of
 * merge_api.h. kind: 0 delta, 1 absolute. norm: 0 none, 1 present weight.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* On the device. */
typedef struct HsCudaSparseStats {
  double update_sq;
  uint64_t bad;
  uint64_t touched; /* weights that a merge reached; 0 of an update */
  float update_max;
  uint32_t padding;
} HsCudaSparseStats;

/* *d_disorder (one uint32 on the device): 0 when the indices ascend strictly and are below n. */
int hs_cuda_are_ascending(const uint32_t* d_index, size_t count, size_t n, uint32_t* d_disorder,
                          void* stream);

/* Bytes of workspace for `terms` terms: the entries (values of blocks) of an update, or the n weights
 * of a merge. Any content. */
size_t hs_cuda_sparse_workspace(size_t terms);

/* Indices must have been found ascending and below n. cudaErrorInvalidValue: workspace too small. */
int hs_cuda_sparse_ema(float* d_w, size_t n, const uint32_t* d_index, const float* d_value,
                       size_t count, int kind, float alpha, void* d_workspace,
                       size_t workspace_bytes, HsCudaSparseStats* d_stats, void* stream);

/* `count` blocks of 8, 16 or 32 values, else cudaErrorInvalidValue. */
int hs_cuda_sparse_ema_blocks(float* d_w, size_t n, const uint32_t* d_block_id, const float* d_value,
                              size_t count, size_t block, int kind, float alpha, void* d_workspace,
                              size_t workspace_bytes, HsCudaSparseStats* d_stats, void* stream);

typedef struct HsCudaSparseList {
  const uint32_t* d_index;
  const float* d_value;
  const uint64_t* d_tile_begin; /* ceil(n / 65536) + 1 */
  float weight;
} HsCudaSparseList;

/* `lists` lies on the host and is read before the return. At most 32 lists, n < 2^32. */
int hs_cuda_merge_lists(float* d_w, size_t n, const HsCudaSparseList* lists, size_t list_count,
                        int norm, int kind, float alpha, void* d_workspace, size_t workspace_bytes,
                        HsCudaSparseStats* d_stats, void* stream);

#ifdef __cplusplus
}
#endif
