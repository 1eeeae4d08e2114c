// SPDX-License-Identifier: Apache-2.0
// The all-reduce of baseline `ddp` without training: the protocol object is driven as a host drives
// it, and every gradient it asks for is there at once. Compute lane of each process.
#pragma once

#include <cstddef>

#include "runtime/bench/net_processes.hpp"

namespace hearsay::runtime {

NetReport ring_all_reduce(NetPeer& peer, std::size_t values);

}  // namespace hearsay::runtime
