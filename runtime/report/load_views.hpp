// SPDX-License-Identifier: Apache-2.0
// The part of RunFacts about who is alike and which examples changed hands, out of events. Logs may
// hold anything: a list of another length, or with values out of range, is as if it were not there.
// Lane: any. Cost: partitions that many rounds found are kept once.
#pragma once

#include <map>
#include <vector>

#include "runtime/report/log_set.hpp"
#include "runtime/report/run_facts.hpp"

namespace hearsay::runtime::report {

class ViewReader {
 public:
  explicit ViewReader(RunFacts& facts);
  // False: the event is none of these.
  bool read(const LoggedEvent& event, PeerIndex peer, double time_s);

 private:
  void view(const LoggedEvent& event, PeerIndex peer, double time_s);
  void delivery(const LoggedEvent& event, PeerIndex peer, double time_s);
  void lessons(const LoggedEvent& event, PeerIndex peer, double time_s);
  std::size_t partition_of(std::vector<std::uint32_t> labels);

  RunFacts& facts_;
  std::map<std::string, PeerIndex> indices_;
  std::vector<PeerIndex> places_;  // [place in the pool] its peer here; kNobody: never taken
  std::map<std::vector<std::uint32_t>, std::size_t> known_;
};

}  // namespace hearsay::runtime::report
