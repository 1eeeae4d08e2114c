// SPDX-License-Identifier: Apache-2.0
// What a live peer leaves in its folder of the run directory, and reading it back: its numbers as
// result.json, and its final model as model.safetensors of its newest checkpoint, the one that
// ckpt/latest names. With an end game that changed the weights, the ones from before it lie
// beside the model. Invariant: every file is complete or absent; result.json is written last, so
// whoever finds it finds the model too. The model file carries the digest of its values. Lane: that
// of the caller, at the end of a peer. Cost: the weights once (twice after an end game), fsync.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/buffer.hpp"
#include "kernels/core/layout.hpp"
#include "runtime/checkpoint/checkpoint.hpp"
#include "runtime/host/pool_result.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

struct PeerWeights {
  std::span<const float> final_weights;
  std::span<const float> before_end_game;  // empty: the same as final_weights
};

// As read. `before_end_game` is empty when no end game changed the weights.
struct PeerModel {
  std::uint64_t steps = 0;  // mini-batches behind it
  kernels::Layout layout;
  kernels::Buffer<float> final_weights, before_end_game;

  std::span<const float> counted() const noexcept {
    return before_end_game.size() > 0 ? before_end_game.span() : final_weights.span();
  }
};

// The model files of a checkpoint; name, steps, samples and mseq are those of `result`. The weights
// are borrowed.
std::vector<TensorPart> peer_model_parts(const RunDir& run, const PeerResult& result,
                                         const std::string& version, const kernels::Layout& layout,
                                         const PeerWeights& weights);
// Makes the peer's folder when it is missing, and replaces what lay there. Throws a Fault with file
// and errno text.
void write_peer_result(const RunDir& run, const PeerResult& result);

// Readers return nothing when the file is not there, and throw DamagedFile when it is but cannot be
// trusted: torn, foreign, another peer's, values that differ from their digest.
std::optional<PeerResult> read_peer_result(const RunDir& run, std::string_view peer);
std::optional<PeerModel> read_peer_model(const RunDir& run, std::string_view peer);

}  // namespace hearsay::runtime
