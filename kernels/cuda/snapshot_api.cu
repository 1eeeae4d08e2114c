// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/snapshot_api.h"

#include "kernels/cuda/train_handle.cuh"

using hearsay::cuda::guarded;

namespace {

hearsay::cuda::SlotMerger& merger(HsCudaTrainer* trainer) { return trainer->trainer.merger(); }

}  // namespace

extern "C" {

int hs_cuda_snapshot_take(HsCudaTrainer* trainer, size_t slot, int sends, HsCudaSnapshot** made) {
  return guarded([&] { *made = merger(trainer).take(slot, sends != 0).release(); });
}

int hs_cuda_snapshot_upload(HsCudaTrainer* trainer, const float* host, HsCudaSnapshot** made) {
  return guarded([&] { *made = merger(trainer).upload(host).release(); });
}

void hs_cuda_snapshot_free(HsCudaSnapshot* snapshot) { delete snapshot; }

int hs_cuda_snapshot_host(HsCudaSnapshot* snapshot, const float** host) {
  return guarded([&] { *host = snapshot->store->host(*snapshot->block); });
}

int hs_cuda_slot_measure(HsCudaTrainer* trainer, size_t slot, const HsCudaSnapshot* in,
                         const HsCudaSnapshot* base, int with_mark, HsMergeStats* stats) {
  return guarded([&] { *stats = merger(trainer).measure(slot, *in, base, with_mark != 0); });
}

int hs_cuda_slot_blend(HsCudaTrainer* trainer, size_t slot, float alpha, const HsCudaSnapshot* in,
                       const HsCudaSnapshot* base, int with_mark) {
  return guarded([&] { merger(trainer).blend(slot, alpha, *in, base, with_mark != 0); });
}

int hs_cuda_slot_mark(HsCudaTrainer* trainer, size_t slot) {
  return guarded([&] { merger(trainer).mark(slot); });
}

int hs_cuda_slot_moved(HsCudaTrainer* trainer, size_t slot, double* squared) {
  return guarded([&] { *squared = merger(trainer).moved_sq(slot); });
}

int hs_cuda_slot_put_mark(HsCudaTrainer* trainer, size_t slot, const float* host) {
  return guarded([&] { merger(trainer).put_mark(slot, host); });
}

int hs_cuda_slot_get_mark(HsCudaTrainer* trainer, size_t slot, float* host) {
  return guarded([&] { merger(trainer).get_mark(slot, host); });
}

}  // extern "C"
