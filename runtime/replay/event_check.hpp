// SPDX-License-Identifier: Apache-2.0
// Holds the events that a replay makes against the lines that the run has logged, one peer's, in
// order and byte for byte but for line numbers. Lines that only a host writes (evaluations,
// checkpoints, what a transport saw) are passed over. Cost: one pass over the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/protocol.hpp"

namespace hearsay::runtime {

class EventCheck {
 public:
  // The peer's logs, first to last; what cannot be read is named in `damage` and ends the check
  // there.
  EventCheck(const std::vector<std::string>& paths, std::string peer, std::string& damage);

  // The peer starts (again). What its log still has of the start before is passed over, as the log
  // of a killed process may reach further than its journal; so is a start whose journal is missing.
  void begin_start(std::uint64_t incarnation);
  // False when the log says something else; difference() then has both. Once the log is at its end
  // (its writer was killed) everything passes, uncounted.
  bool check(gossip::Time now, const gossip::Event& event);
  const std::string& difference() const noexcept { return difference_; }
  std::uint64_t checked() const noexcept { return checked_; }

 private:
  std::string peer_;
  std::vector<std::string> lines_;  // without what hosts write; line numbers cut out
  struct Start {
    std::size_t begin = 0;  // of its lines
    std::optional<std::uint64_t> incarnation;
  };
  std::vector<Start> starts_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t checked_ = 0;
  std::string difference_;
};

}  // namespace hearsay::runtime
