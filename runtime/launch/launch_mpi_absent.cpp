// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/errc.hpp"
#include "runtime/launch/mpi_link.hpp"

namespace hearsay::runtime {

bool mpi_is_built_in() { return false; }

std::unique_ptr<MpiLink> open_mpi_link() {
  throw kernels::UsageError(
      "this hearsay was built without MPI; install libopenmpi-dev and build again, or use hearsay "
      "launch -n N");
}

}  // namespace hearsay::runtime
