// SPDX-License-Identifier: Apache-2.0
// Trainers with known weights and owners of what the C functions make, for tests of snapshots.
#pragma once

#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/cuda/snapshot_api.h"

namespace hearsay::kernels {

inline constexpr std::size_t kIn = 200, kOut = 101,
                             kValues = kIn * kOut + kOut;  // five tiles, no quads

inline void done(int error) {
  if (error != 0) throw std::runtime_error(hs_cuda_train_error());
}

struct FreeTrainer {
  void operator()(HsCudaTrainer* trainer) const { hs_cuda_train_destroy(trainer); }
};
struct FreeSnapshot {
  void operator()(HsCudaSnapshot* snapshot) const { hs_cuda_snapshot_free(snapshot); }
};
using TrainerPtr = std::unique_ptr<HsCudaTrainer, FreeTrainer>;
using SnapshotPtr = std::unique_ptr<HsCudaSnapshot, FreeSnapshot>;
using Values = std::vector<float>;

inline Values random_values(std::uint64_t which) {
  Rng rng = Rng::stream(which, "snapshot-test");
  Values values(kValues);
  for (float& v : values) v = static_cast<float>(rng.normal());
  return values;
}

// Slot s holds random_values(s).
inline TrainerPtr make_trainer(int device, std::size_t slots) {
  HsCudaLayer layer{};
  layer.in = kIn;
  layer.out = kOut;
  layer.height = layer.width = layer.kernel = 1;
  const Values scale(kIn, 1.0f), shift(kIn, 0.0f);
  HsCudaTrainPlan plan{};
  plan.layers = &layer;
  plan.layer_count = 1;
  plan.slots = slots;
  plan.max_batch = plan.chunk = 8;
  plan.optimizer = HS_CUDA_SGD;
  plan.scale = scale.data();
  plan.shift = shift.data();
  HsCudaTrainer* made = nullptr;
  done(hs_cuda_train_create(device, &plan, &made));
  TrainerPtr trainer(made);
  for (std::size_t slot = 0; slot < slots; ++slot)
    done(hs_cuda_train_put(made, slot, HS_CUDA_WEIGHTS, random_values(slot).data()));
  return trainer;
}

inline SnapshotPtr take(const TrainerPtr& trainer, std::size_t slot, bool sends = false) {
  HsCudaSnapshot* made = nullptr;
  done(hs_cuda_snapshot_take(trainer.get(), slot, sends, &made));
  return SnapshotPtr(made);
}

inline Values host_of(const SnapshotPtr& snapshot) {
  const float* values = nullptr;
  done(hs_cuda_snapshot_host(snapshot.get(), &values));
  return {values, values + kValues};
}

inline Values weights_of(const TrainerPtr& trainer, std::size_t slot) {
  Values values(kValues);
  done(hs_cuda_train_get(trainer.get(), slot, HS_CUDA_WEIGHTS, values.data()));
  return values;
}

inline Values mark_of(const TrainerPtr& trainer, std::size_t slot) {
  Values values(kValues);
  done(hs_cuda_slot_get_mark(trainer.get(), slot, values.data()));
  return values;
}

inline bool same(const Values& a, const Values& b) {
  return std::memcmp(a.data(), b.data(), kValues * sizeof(float)) == 0;
}

inline void put(const TrainerPtr& trainer, std::size_t slot, const Values& values) {
  done(hs_cuda_train_put(trainer.get(), slot, HS_CUDA_WEIGHTS, values.data()));
}

}  // namespace hearsay::kernels
