// SPDX-License-Identifier: Apache-2.0
// What the MPI twins print: one JSON object on one line, times in microseconds. Process 0 only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace hearsay::peers {

struct Result {
  std::string op;
  std::size_t values = 0;
  int processes = 0;
  std::vector<double> seconds;  // one per sample, of the slowest process; not empty
  std::uint64_t wrong = 0;
  std::string digest;
};

inline void print_json(Result result) {
  std::sort(result.seconds.begin(), result.seconds.end());
  const auto last = static_cast<double>(result.seconds.size() - 1);
  const auto at_us = [&](double share) {
    return 1e6 * result.seconds[static_cast<std::size_t>(share * last + 0.5)];
  };
  std::printf(
      "{\"op\":\"%s\",\"n\":%zu,\"processes\":%d,\"samples\":%zu,\"p50_us\":%.3f,\"p99_us\":%.3f,"
      "\"wrong\":%llu,\"digest\":\"%s\"}\n",
      result.op.c_str(), result.values, result.processes, result.seconds.size(), at_us(0.5),
      at_us(0.99), static_cast<unsigned long long>(result.wrong), result.digest.c_str());
}

}  // namespace hearsay::peers
