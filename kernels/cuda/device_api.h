/* SPDX-License-Identifier: Apache-2.0
 * The devices that libhearsay_cuda.so can use.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  char name[256];
  int compute_major, compute_minor, multiprocessors;
  size_t memory_bytes, l2_bytes;
  char bus_id[32]; /* PCI, tells two processes whether they mean the same card */
  int has_code;    /* the library was built for its architecture, or for an older one with PTX */
} HsCudaDevice;

/* How many; 0 with *error set to a cudaError_t when there is none (35: no driver). */
int hs_cuda_device_count(int* error);

/* Facts of one device; makes no context on it. Returns 0 or a cudaError_t. */
int hs_cuda_device_facts(int device, HsCudaDevice* facts);

/* "8.0, 9.0, 12.0 and up": the architectures that the library was built for. */
const char* hs_cuda_architectures(void);

/* "out of memory": the text of a cudaError_t. */
const char* hs_cuda_error_text(int error);

#ifdef __cplusplus
}
#endif
