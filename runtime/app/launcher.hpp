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
  std::string job;                  // its name for this job, the same on all hosts; may be empty
  std::uint64_t attempt = 0;        // how often it has started this job, or this process, again
  bool several_hosts = false;       // the job has processes on other hosts
};

// HEARSAY_PEER/PEERS, OMPI_COMM_WORLD_*, PMIX_RANK/PMI_RANK, SLURM_PROCID with SLURM_NTASKS > 1,
// RANK/WORLD_SIZE.
Launcher detect_launcher(const Environment& environment);

// The pool is as large as the job, whatever a preset says. Throws UsageError when --peers asks for
// another size.
Settings with_job_size(const Settings& settings, const Launcher& launcher);

// Where peers of this job listen unless they are told: on one host loopback, else everywhere.
// Throws UsageError when that would leave frames unprotected (no --secret, no --tls) and --insecure
// does not allow it.
std::string listen_of_job(const Settings& settings, const Launcher& launcher);

}  // namespace hearsay::runtime
