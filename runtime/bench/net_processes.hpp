// SPDX-License-Identifier: Apache-2.0
// Runs one piece of work in several processes of this machine that are connected by transports:
// the caller's process is number 0, the others are forked from it and end with the call, whatever
// happens. The caller has no other thread that matters to the work. Cost: a fork per process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/core/digest.hpp"
#include "runtime/bench/net_peer.hpp"

namespace hearsay::runtime {

struct NetReport {
  std::vector<double> seconds;  // one per sample; together: of the slowest process
  std::uint64_t wrong = 0;      // values that are not exactly what they must be; together: summed
  kernels::Digest digest;       // of the results; together: of process 0, others count as wrong
};

using NetWork = std::function<NetReport(NetPeer&)>;

// Throws Fault when a process fails.
NetReport run_processes(std::uint32_t processes, std::size_t values, const NetWork& work,
                        const std::shared_ptr<Security>& security = nullptr);

}  // namespace hearsay::runtime
