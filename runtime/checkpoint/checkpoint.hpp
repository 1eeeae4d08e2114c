// SPDX-License-Identifier: Apache-2.0
// What a checkpoint holds, of one live peer or of a whole simulated pool: small state as JSON, and
// weights, moments and arrays as safetensors. What is written borrows its values; what was read
// owns them. Lane: any. Cost: helpers here copy what they say.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gossip/archive.hpp"
#include "kernels/core/layout.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/safetensors.hpp"
#include "runtime/train/trainer.hpp"

namespace hearsay::runtime {

inline constexpr std::int64_t kCheckpointSchema = 2;

// One safetensors file of it. The values of `pieces` follow each other and fill the layout.
struct TensorPart {
  std::string file;  // "model.safetensors"
  kernels::Layout layout;
  std::vector<std::span<const float>> pieces;
  TensorMetadata metadata;
};

struct Checkpoint {                                               // to write
  gossip::Archive::Json about = gossip::Archive::Json::object();  // whose it is, for people too
  gossip::Archive::Json state;
  std::vector<TensorPart> tensors;
  std::vector<merge::SnapshotRef> owned;  // keeps alive what the pieces borrow, where need be
};

struct LoadedCheckpoint {
  std::uint64_t number = 0;
  std::string path;  // of its folder
  gossip::Archive::Json about, state;
  std::map<std::string, TensorFile> tensors;  // by file name

  std::string file(const std::string& name) const { return path + "/" + name; }
  // A file that must be there. Throws DamagedFile.
  TensorFile& tensor_file(const std::string& name);
};

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kArraysFile = "arrays.safetensors";

// Weights and moments of one trainer, named `prefix` + "0.weight" and `prefix` + "momentum." +
// "0.weight"; of a pool, one trainer after the other ("p00/").
void append_trainer(Trainer& trainer, const kernels::Layout& layout, const std::string& prefix,
                    TensorPart& model, TensorPart& optimizer);
// Puts them back, in the order in which they were appended. `taken` counts values. Throws
// DamagedFile when the file holds other tensors.
struct TensorsTaken {
  std::size_t model = 0, optimizer = 0;
};
void take_trainer(Trainer& trainer, const kernels::Layout& layout, const std::string& prefix,
                  LoadedCheckpoint& from, TensorsTaken& taken);

// The arrays of an Archive, named "0", "1", ...
TensorPart arrays_part(const gossip::Archive::Arrays& arrays);
gossip::Archive::Arrays take_arrays(LoadedCheckpoint& from);  // copies

// Where the event log stood.
void keep_log_position(Checkpoint& checkpoint, const LogPosition& position);
LogPosition log_position(const LoadedCheckpoint& from);  // throws DamagedFile

}  // namespace hearsay::runtime
