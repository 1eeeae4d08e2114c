// SPDX-License-Identifier: Apache-2.0
// What all peers of one process share when they train the same network: its shape, how bytes become
// inputs, and one workspace a thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/nn/mlp.hpp"
#include "runtime/train/standardisation.hpp"

namespace hearsay::runtime {

class NnContext {
 public:
  NnContext(kernels::Mlp model, Standardisation input, std::size_t workers, std::size_t max_batch);

  const kernels::Mlp& model() const noexcept { return model_; }
  const Standardisation& input() const noexcept { return input_; }
  kernels::MlpWorkspace<float>& workspace(std::size_t worker) { return *workspaces_[worker]; }
  std::size_t max_batch() const noexcept { return max_batch_; }

  // Writes `image` as the row `row` of the worker's next batch.
  void load_row(std::size_t worker, std::size_t row, std::span<const std::uint8_t> image);

 private:
  kernels::Mlp model_;
  Standardisation input_;
  std::size_t max_batch_;
  std::vector<std::unique_ptr<kernels::MlpWorkspace<float>>> workspaces_;
};

}  // namespace hearsay::runtime
