// SPDX-License-Identifier: Apache-2.0
// What all peers of one process share when they train the same network: its shape, how bytes become
// inputs, and one workspace a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/nn/workspace.hpp"
#include "runtime/train/standardisation.hpp"

namespace hearsay::runtime {

class NnContext {
 public:
  NnContext(kernels::Network model, Standardisation input, std::size_t workers,
            std::size_t max_batch);

  const kernels::Network& model() const noexcept { return model_; }
  const Standardisation& input() const noexcept { return input_; }
  kernels::Workspace<float>& workspace(std::size_t worker) { return *workspaces_[worker]; }
  std::size_t max_batch() const noexcept { return max_batch_; }
  // With which every peer of a run begins, whoever it is: drawn once. One thread at a time.
  std::span<const float> first_weights(std::uint64_t seed);

  // Writes `image` as the row `row` of the worker's next batch.
  void load_row(std::size_t worker, std::size_t row, std::span<const std::uint8_t> image);

 private:
  kernels::Network model_;
  Standardisation input_;
  std::size_t max_batch_;
  kernels::Buffer<float> first_weights_;
  std::uint64_t first_seed_ = 0;
  std::vector<std::unique_ptr<kernels::Workspace<float>>> workspaces_;
};

}  // namespace hearsay::runtime
