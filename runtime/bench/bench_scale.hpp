// SPDX-License-Identifier: Apache-2.0
// How many merges a second one core simulates, through the protocol objects and the host of
// `hearsay sim`, in a pool of thousands that does not learn; and whether they still mix as they
// should. Two rows:
//   table   uniform ordered pairs one after the other: V falls by 4 a (1 - a) / (n - 1) a merge
//           (bench_mix.hpp), exactly in expectation
//   clock   in virtual time, a merge every 20 mini-batches of a peer. Initiators then take turns
//           more or less, which mixes faster: between 1/e and 1/(2 sqrt(e)) a cycle of n merges at
//           alpha = 1/2 (Jelasity, Montresor, Babaoglu 2005, "Gossip-based aggregation in large
//           dynamic networks", section 3: GETPAIR_RAND and GETPAIR_SEQ)
// Cost: two vectors of `values` floats a peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hearsay::runtime {

struct ScaleRow {
  std::string op;  // table, clock
  std::uint32_t peers = 0;
  std::size_t values = 0;
  std::uint64_t merges = 0;  // started; each is applied on both sides
  std::uint64_t applied = 0;
  double wall_s = 0.0;      // the pool's making included
  double peak_bytes = 0.0;  // of this process so far
  double measured = 0.0;    // -ln V'/V a merge, times n - 1
  double expected = 0.0;    // the same by theory; the slower bound on a clock
  double expected_most = 0.0;
  double virtual_s = 0.0;
};
ScaleRow bench_scale_table(std::uint32_t peers, std::size_t values, std::uint64_t merges,
                           std::uint64_t seed);
ScaleRow bench_scale_clock(std::uint32_t peers, std::size_t values, std::uint64_t merges,
                           std::uint64_t seed);

}  // namespace hearsay::runtime
