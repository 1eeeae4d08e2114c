// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/errc.hpp"
#include "runtime/launch/supervise.hpp"

namespace hearsay::runtime {

int supervise_under_mpi(const std::vector<std::string>&, const Settings&, const RunConfig&) {
  throw kernels::UsageError(
      "this hearsay was built without MPI; install libopenmpi-dev and build again, or use hearsay "
      "launch -n N");
}

}  // namespace hearsay::runtime
