/* SPDX-License-Identifier: Apache-2.0
 * CUDA twins of kernels/ops/select_ops.hpp; the conventions are those of merge_api.h. One dense
 * pass in the common case; counts stay on the device and nothing waits. Entries, counts and
 * threshold are those of the CPU for every grid. Arrays have fewer than 2^32 values, fp32 or bf16;
 * 16-byte alignment is faster.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HS_SELECT_FP32 = 0, HS_SELECT_BF16 = 1 };

/* Of both arrays; fp32 unless said. u = w, or w - published where published is not null (then kind
 * 0: values are u and published += u, 1: values are w and published = w). clear_selected, without
 * published: selected values become 0. */
typedef struct HsCudaSelectFrom {
  void* d_w;
  void* d_published;
  size_t n;
  int kind;
  int clear_selected;
  int type;
} HsCudaSelectFrom;

/* index and value have room for `capacity` entries; tile_begin for ceil(n / 65536) + 1 offsets. */
typedef struct HsCudaSelectOut {
  uint32_t* d_index;
  float* d_value;
  uint64_t* d_tile_begin;
  size_t capacity;
} HsCudaSelectOut;

/* On the device. count: entries found, of which min(count, capacity) are written. */
typedef struct HsCudaSelected {
  uint64_t count;
  uint64_t bad;
  uint32_t tau_key;
  uint32_t
      is_repaired; /* the guess was wrong and the array was read again: two to four more passes */
} HsCudaSelected;

/* Bytes of workspace to select about k of n; any content, 256-byte aligned as from cudaMalloc. */
size_t hs_cuda_select_workspace(size_t n, size_t k);

/* The k largest. cudaErrorInvalidValue: no such kind or type, n >= 2^32, capacity < min(k, n),
 * workspace too small. */
int hs_cuda_select_largest(const HsCudaSelectFrom* from, size_t k, uint32_t prior,
                           const HsCudaSelectOut* out, void* d_workspace, size_t workspace_bytes,
                           HsCudaSelected* d_selected, void* stream);

/* All with |u| >= tau, the first `capacity` of them written; workspace for k = capacity. Needs a
 * finite tau > 0, else cudaErrorInvalidValue. */
int hs_cuda_select_above(const HsCudaSelectFrom* from, float tau, const HsCudaSelectOut* out,
                         void* d_workspace, size_t workspace_bytes, HsCudaSelected* d_selected,
                         void* stream);

#ifdef __cplusplus
}
#endif
