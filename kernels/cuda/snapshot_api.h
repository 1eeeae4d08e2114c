/* SPDX-License-Identifier: Apache-2.0
 * Merges of the models in a trainer's slots (train_api.h), on the device: snapshots of a slot, what a
 * snapshot would change, the change, and a mark of the weights at the start of a block that moves along
 * with every change. Statistics and weights have the bits of kernels/ops/merge_ops.hpp. A snapshot may be
 * of another trainer, on any device: it is copied over once, device to device, ordered by events.
 * One host thread at a time for all trainers that see each other's snapshots, except where it says "any
 * thread". Functions return 0, or 1 with one line from hs_cuda_train_error().
 */
#pragma once

#include <stddef.h>

#include "kernels/cuda/train_api.h"
#include "kernels/cuda/vector_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HsCudaSnapshot HsCudaSnapshot;

/* A copy of a slot's weights: 8 B a value of device traffic, nothing waits. `sends`: begins at once to
 * copy it to page-locked host memory, for hs_cuda_snapshot_host. Memory comes from the trainer's store,
 * which grows to the most snapshots that were alive at once. */
int hs_cuda_snapshot_take(HsCudaTrainer* trainer, size_t slot, int sends, HsCudaSnapshot** made);
/* Of values in host memory, which are read before it returns. */
int hs_cuda_snapshot_upload(HsCudaTrainer* trainer, const float* host, HsCudaSnapshot** made);
/* Any thread; may come after the end of its trainer. */
void hs_cuda_snapshot_free(HsCudaSnapshot* snapshot);
/* The values in page-locked host memory, good until the snapshot is freed. Copies them where that has not
 * begun, and waits. Any thread. */
int hs_cuda_snapshot_host(HsCudaSnapshot* snapshot, const float** host);

/* merge_stats and merge_blend of the slot's weights with `in` against `base` (null: the weights
 * themselves), with the slot's mark where `with_mark`. measure waits, blend does not. */
int hs_cuda_slot_measure(HsCudaTrainer* trainer, size_t slot, const HsCudaSnapshot* in,
                         const HsCudaSnapshot* base, int with_mark, HsMergeStats* stats);
int hs_cuda_slot_blend(HsCudaTrainer* trainer, size_t slot, float alpha, const HsCudaSnapshot* in,
                       const HsCudaSnapshot* base, int with_mark);

/* The mark becomes the slot's weights; the squared distance of the weights from it, which waits. */
int hs_cuda_slot_mark(HsCudaTrainer* trainer, size_t slot);
int hs_cuda_slot_moved(HsCudaTrainer* trainer, size_t slot, double* squared);
/* The mark from and to host memory; both wait. */
int hs_cuda_slot_put_mark(HsCudaTrainer* trainer, size_t slot, const float* host);
int hs_cuda_slot_get_mark(HsCudaTrainer* trainer, size_t slot, float* host);

#ifdef __cplusplus
}
#endif
