// SPDX-License-Identifier: Apache-2.0
// Which launcher started this process, read from the environment in a fixed order. A rank is a
// launcher's accident: it only seeds the default peer name and the device choice. Pure function, no
// I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/config.hpp"

namespace hearsay::runtime {

struct Launcher {
  std::string name = "single";  // "hearsay", "openmpi", "pmix", "slurm", "torchrun", "single"
  std::optional<std::uint64_t> rank, size;  // as far as the launcher says
  std::vector<std::string> used;            // "OMPI_COMM_WORLD_RANK=3": what the choice rests on
  std::vector<std::string> others;  // launchers that also left traces, but come later in the order
};

// HEARSAY_PEER/PEERS, OMPI_COMM_WORLD_*, PMIX_RANK/PMI_RANK, SLURM_PROCID with SLURM_NTASKS > 1,
// RANK/WORLD_SIZE.
Launcher detect_launcher(const Environment& environment);

}  // namespace hearsay::runtime
