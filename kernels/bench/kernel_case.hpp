// SPDX-License-Identifier: Apache-2.0
// What a kernel's bench measures: one operator at one size, and how its result is checked. Families
// list theirs in kernels/ops/<family>_bench.cpp and kernels/cuda/<family>_bench.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/core/workers.hpp"

namespace hearsay::kernels {

struct KernelCase {
  double bytes = 0.0;           // that must move in one call, each input and output once
  std::function<void()> reset;  // untimed, before every sample: inputs as they were; may be empty
  std::function<void()> run;    // timed; on a GPU it queues work on its stream and does not wait
  // After reset() and one run() into poisoned outputs: values that differ from the reference.
  std::function<std::uint64_t()> wrong;
};

// Buffers belong to the case (its functions hold them), so that one case at a time has memory.
struct CpuCaseMaker {
  std::string op;
  std::function<KernelCase(std::size_t n, Workers& workers)> make;
};
struct CudaCaseMaker {
  std::string op;
  std::function<KernelCase(std::size_t n, void* stream)> make;  // stream: a cudaStream_t
};

struct KernelRow {
  std::string op;
  std::size_t n = 0;
  double bytes = 0.0, p50_s = 0.0, p99_s = 0.0;
  double copy_bytes_per_s = 0.0;  // of the copy measured beside it, bytes read and written
  std::uint64_t wrong = 0;
  double bytes_per_s() const { return p50_s > 0 ? bytes / p50_s : 0.0; }
  double share_of_copy() const {
    return copy_bytes_per_s > 0 ? bytes_per_s() / copy_bytes_per_s : 0.0;
  }
};

}  // namespace hearsay::kernels
