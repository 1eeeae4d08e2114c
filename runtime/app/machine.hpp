// SPDX-License-Identifier: Apache-2.0
// Facts about this machine that results depend on: CPU, BLAS, memory, limits. Read once from the
// system; nothing here throws, an unknown fact is empty or 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearsay::runtime {

struct CpuFacts {
  std::string model;
  unsigned cores = 0;  // that this process may use
  unsigned cores_online = 0;
  double cores_allowed = 0.0;     // by the control group's share of time; 0 = no such limit
  std::vector<std::string> simd;  // "avx2", "fma", ... in a fixed order
};

struct BlasFacts {
  std::string library;  // path of the shared library; empty when it is not OpenBLAS
  std::string config;   // "OpenBLAS 0.3.21 NO_AFFINITY ..."
  std::string core;     // "Haswell": kernels chosen at load time, part of what makes bits repeat
  int threads = 0;
};

struct MemoryFacts {
  std::uint64_t total_bytes = 0;
  std::uint64_t available_bytes = 0;
  std::uint64_t limit_bytes = 0;  // of the control group; 0 = none
};

struct LimitFacts {
  std::uint64_t open_files = 0;  // soft limit
  std::uint64_t open_files_hard = 0;
  std::uint64_t processes = 0;  // threads count too; 0 = no limit
};

CpuFacts cpu_facts();
BlasFacts blas_facts();
MemoryFacts memory_facts();
LimitFacts limit_facts();
std::uint64_t free_disk_bytes(const std::string& folder);
// Peers of the largest pool on this machine that the number of open files allows.
std::uint64_t peers_for_open_files(std::uint64_t open_files);

}  // namespace hearsay::runtime
