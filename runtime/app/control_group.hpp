// SPDX-License-Identifier: Apache-2.0
// What the control groups of this process allow it: the smallest limit on the way up to the root,
// in the hierarchy of version 2 or in those of version 1. Nothing here throws; no limit is 0.
// Any lane; cost: a few small files.
#pragma once

#include <cstdint>
#include <filesystem>

namespace hearsay::runtime {

struct ControlGroupFacts {
  double cores = 0.0;  // time on all cores together, in cores
  std::uint64_t memory_bytes = 0;
  std::uint64_t processes = 0;  // threads count too
};

// `membership` is the list of groups that the kernel keeps for each process.
ControlGroupFacts control_group_facts(
    const std::filesystem::path& mount = "/sys/fs/cgroup",
    const std::filesystem::path& membership = "/proc/self/cgroup");

}  // namespace hearsay::runtime
