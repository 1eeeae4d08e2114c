// SPDX-License-Identifier: Apache-2.0
// hearsay train under mpirun: this process becomes a rank's supervisor and the peer its child, so
// that a peer that dies does not end the pool. Chosen at link time: launch_mpi.cpp, or
// launch_mpi_absent.cpp where the build found no MPI.
#pragma once

#include <string>
#include <vector>

#include "runtime/config/config.hpp"

namespace hearsay::runtime {

// `args`: what follows `hearsay train`. Returns the pool's exit code, the same on every rank.
int supervise_under_mpi(const std::vector<std::string>& args, const Settings& settings,
                        const RunConfig& config);

}  // namespace hearsay::runtime
