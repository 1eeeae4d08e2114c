// SPDX-License-Identifier: Apache-2.0
// Numbers of a whole pool as people read them: times, counts, and the one line that every display
// of progress shares. Pure functions; any lane; cost: one small string each.
#pragma once

#include <cstdint>
#include <string>

namespace hearsay::runtime {

struct PoolNumbers {
  std::uint32_t live = 0, peers = 0;
  std::uint64_t samples = 0;
  double loss_mean = 0.0, loss_deviation = 0.0;  // over live peers; NaN before the first mini-batch
  double accuracy = 0.0;                         // mean of the newest evaluations; NaN before
  std::uint64_t merges = 0, refused = 0;         // merges: exchanges started
  std::uint64_t payload_bytes = 0;               // sent
};

std::string clock_text(double seconds);      // "00:00:31"
std::string short_count(double count);       // "412k"
std::string rate_text(double per_second);    // "12.3k/s", 7 columns at most below 1e9
std::string loss_text(double loss);          // "0.381", 6 columns at most
const char* plus_minus(bool utf8);           // the sign, or "+-"
std::string accuracy_text(double accuracy);  // "acc 0.884"
std::string merges_text(const PoolNumbers& numbers, bool always_refused);

// "8/8 peers  samples 412k  loss 0.381±0.022  acc 0.884  merges 126 (2 refused)  sent 31.4 MiB"
std::string progress_line(const PoolNumbers& numbers, bool utf8);

}  // namespace hearsay::runtime
