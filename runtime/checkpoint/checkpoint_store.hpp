// SPDX-License-Identifier: Apache-2.0
// A folder of checkpoints, one folder each, named by a rising number of at least six digits:
//   000120/model.safetensors  optimizer.safetensors  arrays.safetensors  state.json
//   latest                    the number of the newest, replaced by rename
// Invariant: a folder with such a name is complete and on disk; what is being written, or taken
// away, is called <number>.tmp. state.json is written last, names size and digests of every other
// file and ends with the digest of its own text, so damage is found before anything is believed.
// Lane: one writer at a time, any thread. Cost: the bytes once, an fsync a file and three more.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.hpp"

namespace hearsay::runtime {

struct WrittenCheckpoint {
  std::uint64_t number = 0;
  std::string name;  // of the folder
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds took{0};
};

class CheckpointStore {
 public:
  explicit CheckpointStore(std::string folder) : folder_(std::move(folder)) {}

  // Numbers of the complete ones, rising.
  std::vector<std::uint64_t> numbers() const;

  // Under the number `least`, or the one after the newest when that is larger. Then takes away
  // what is neither one of the newest two nor the first of its hour, and what killed writers have
  // left. Throws a Fault (exit 1) with file and errno text; what was there before is untouched
  // then.
  WrittenCheckpoint write(std::uint64_t least, const Checkpoint& checkpoint) const;

  // Throws DamagedFile (file and offset); UsageError for a schema of the future.
  LoadedCheckpoint load(std::uint64_t number) const;
  // The newest one that is not damaged; `damaged` hears of those that are. Nothing when there is
  // none at all; throws the newest one's DamagedFile when all are damaged. `accept` may refuse one
  // by throwing DamagedFile.
  std::optional<LoadedCheckpoint> load_newest(
      const std::function<void(const std::string&)>& damaged,
      const std::function<void(const LoadedCheckpoint&)>& accept = {}) const;

  static std::string name_of(std::uint64_t number);  // "000120"

 private:
  void prune() const;
  std::string path_of(std::uint64_t number) const { return folder_ + "/" + name_of(number); }

  std::string folder_;
};

}  // namespace hearsay::runtime
