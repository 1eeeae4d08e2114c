/* SPDX-License-Identifier: Apache-2.0
 * What libhearsay_cuda_bench.so exports: the CUDA half of `hearsay bench kernels`.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char* op;
  size_t n;
  double bytes, p50_s, p99_s, copy_bytes_per_s;
  unsigned long long wrong;
} HsCudaBenchRow;

/* Measures the cases whose names contain one of the `only_count` words (0: all) at each size on
 * `device`, calls `row` after each. Returns 0, or 1 with one line in `error`. */
int hs_cuda_bench(int device, const char* const* only, size_t only_count, const size_t* sizes,
                  size_t size_count, void (*row)(void* user, const HsCudaBenchRow*), void* user,
                  char* error, size_t error_bytes);

#ifdef __cplusplus
}
#endif
