// SPDX-License-Identifier: Apache-2.0
// `hearsay train` as a rank of an MPI job: a small supervisor that starts the real peer before
// MPI_Init, keeps MPI to itself and waits without spinning. mpirun ends a whole job when one of its
// processes dies; it never sees peers, so a pool outlives them. Rank 0 watches the pool as
// `hearsay launch` does, makes the run directory and the result; all ranks return its verdict, and
// so does mpirun. MPI carries a few hundred bytes a rank twice a second; weights travel by TCP.
// Lane: the one thread of the supervisor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/app/resume_pool.hpp"
#include "runtime/config/config.hpp"

namespace hearsay::runtime {

// `args`: the words after `train`, which the peer gets too. `resumed`: with --resume. Throws
// UsageError.
int supervise_under_mpi(const std::vector<std::string>& args, const Settings& settings,
                        std::optional<ResumedPool> resumed);

}  // namespace hearsay::runtime
