/* SPDX-License-Identifier: Apache-2.0
 * Snapshots (snapshot_api.h) that go to another process of the host without leaving the GPUs: the
 * one process gives a ticket, the other copies the values into a snapshot of its own. Nothing waits
 * for the other process: a ticket is given when the values are there, and a word beside them tells
 * the reader afterwards whether they still were. The memory of a process that has died can be read
 * until the last reader has closed it. Functions return 0, or 1 with one line from
 * hs_cuda_train_error(). Any thread; one at a time for one source.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/snapshot_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pieces of memory of one process that a source opens: slabs of a store double, so a run has a
 * dozen. Who lends gives no tickets for more. */
enum { HS_CUDA_MOST_OPENED = 64 };

/* For one snapshot of one process, as bytes; good while the snapshot is kept. */
typedef struct {
  unsigned char memory[64];    /* cudaIpcMemHandle_t of the allocation */
  uint64_t values_at, word_at; /* bytes from its beginning */
  uint64_t serial, values;
} HsCudaTicket;

/* Snapshots that are taken from now on have tickets: two launches of a thread more for each. */
int hs_cuda_handover_begin(HsCudaTrainer* trainer);
/* Waits until the values are there. Fails for a snapshot taken before hs_cuda_handover_begin, and
 * where the system does not share memory between processes. */
int hs_cuda_snapshot_ticket(HsCudaSnapshot* snapshot, HsCudaTicket* ticket);

/* What `trainer` takes from one other process. Must go before the trainer. */
typedef struct HsCudaSource HsCudaSource;
int hs_cuda_source_create(HsCudaTrainer* trainer, HsCudaSource** source);
void hs_cuda_source_destroy(HsCudaSource* source);
/* A snapshot of the trainer's with the values of the ticket: one copy, which it waits for. Fails
 * when the memory cannot be opened, when the ticket is of another model, or when the values are not
 * those any more. */
int hs_cuda_source_take(HsCudaSource* source, const HsCudaTicket* ticket, HsCudaSnapshot** made);

#ifdef __cplusplus
}
#endif
