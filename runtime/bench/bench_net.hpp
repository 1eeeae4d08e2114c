// SPDX-License-Identifier: Apache-2.0
// What the transport carries between processes of one machine, over loopback:
//   latency    half a round trip of a control frame, two processes
//   swap       both send their weights, which stand still until they are out, and move half way
//              towards what arrives: the work of MPI_Sendrecv and a merge. Timed from a common
//              start to the end of the slower side's merge
//   exchange   the same with a copy first, as peers do that train on meanwhile
//   stream     weights one way, several frames behind each other, until the last is acknowledged
//   allreduce  the ring of baseline `ddp` (gossip/baselines/ddp.hpp), driven with crafted gradients
// Every value that arrives is compared with what it must be, outside the timed part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/core/digest.hpp"
#include "runtime/net/security.hpp"

namespace hearsay::runtime {

struct NetRow {
  std::string op;
  std::uint32_t processes = 2;
  std::size_t values = 0;                   // 0: a control frame
  std::uint64_t bytes = 0, wire_bytes = 0;  // that one process sends per operation
  std::size_t samples = 0;
  double p50_s = 0.0, p99_s = 0.0;  // of one operation; stream: of one frame
  double copy_s = 0.0;              // memcpy of the values in this run; 0: none
  std::uint64_t wrong = 0;          // values that are not exactly what they must be
  kernels::Digest digest;           // of the last sample's results; not of latency, stream
  bool has_digest() const { return op != "latency" && op != "stream"; }
  double per_s() const { return 1.0 / p50_s; }
  double gb_per_s() const { return static_cast<double>(bytes) / p50_s * 1e-9; }
  double wire_gb_per_s() const { return static_cast<double>(wire_bytes) / p50_s * 1e-9; }
  double share_of_copy() const {  // of the rate at which memcpy moves the model
    return gb_per_s() / (static_cast<double>(values * sizeof(float)) / copy_s * 1e-9);
  }
};

using BenchSecurity =
    std::shared_ptr<Security>;  // none: plain TCP, as between processes of a machine

NetRow bench_latency(const BenchSecurity& security = nullptr);
NetRow bench_swap(std::size_t values, const BenchSecurity& security = nullptr);
NetRow bench_exchange(std::size_t values, const BenchSecurity& security = nullptr);
NetRow bench_stream(std::size_t values, const BenchSecurity& security = nullptr);
NetRow bench_allreduce(std::size_t values, std::uint32_t processes,
                       const BenchSecurity& security = nullptr);

}  // namespace hearsay::runtime
