// SPDX-License-Identifier: Apache-2.0
// Progress of a simulated run on stderr, for people: one line an interval, one line a change. Plain
// text without redraw, also on a terminal: a simulation is over soon. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "runtime/sim/sim_host.hpp"

namespace hearsay::runtime {

class ProgressPrinter {
 public:
  ProgressPrinter(std::uint32_t peers, bool quiet);
  // Prints when kInterval has passed since the last line; asks for the numbers only then.
  void tick(const std::function<SimProgress()>& numbers);
  void notice(gossip::Time virtual_time, const std::string& line);

 private:
  static constexpr auto kInterval = std::chrono::seconds(10);
  static constexpr int kMostNotices =
      100;  // then they are counted, not printed: the log has them all
  double spent_s() const;

  std::uint32_t peers_;
  bool quiet_, utf8_;
  std::chrono::steady_clock::time_point start_, last_;
  int notices_ = 0;
};

}  // namespace hearsay::runtime
