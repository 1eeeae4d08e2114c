// SPDX-License-Identifier: Apache-2.0
// What a live run writes down so that it can be made again: journal entries of mini-batches and
// merges, digests of the weights; each timed alone, beside a mini-batch of training.
#pragma once

#include <cstdint>

#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

struct RecordCost {
  double step_s = 0.0;    // a mini-batch of training, one thread
  double entry_s = 0.0;   // the journal's entries of a mini-batch
  double merge_s = 0.0;   // those of a merge: the frame that came, a flush before weights go out
  double digest_s = 0.0;  // of the weights, tile by tile, and its journal entry
  double entry_bytes = 0.0, merge_bytes = 0.0;
  std::uint64_t steps_between_merges = 1;
  // Of the time of training, digests at every merge.
  double share() const {
    const auto steps = static_cast<double>(steps_between_merges);
    return (steps * entry_s + merge_s + digest_s) / (steps * step_s);
  }
};

// Writes to a temporary file. `steps_between_merges` >= 1.
RecordCost bench_record(const Spec& model, std::uint64_t steps_between_merges);

}  // namespace hearsay::runtime
