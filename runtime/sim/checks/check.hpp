// SPDX-License-Identifier: Apache-2.0
// What must hold in a simulated pool at every instant, or at its end, whatever was done to it: one
// invariant a file. A check looks at the host from outside and knows nothing of how a protocol
// works. Lane: that of SimHost::run. Cost: a check is asked every kLookEvery events, and may then
// look at all peers and frames.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gossip/protocol.hpp"
#include "runtime/sim/sim_host.hpp"

namespace hearsay::runtime {

class SimCheck {
 public:
  virtual ~SimCheck() = default;
  virtual void look(const SimHost& host, gossip::Time now) = 0;
  // After the last event; by default as at any other.
  virtual void at_end(const SimHost& host, gossip::Time now) { look(host, now); }
  const std::vector<std::string>& breaches() const noexcept { return breaches_; }

 protected:
  // One line: what does not hold, when, of whom. The first few are kept.
  void broken(gossip::Time now, const std::string& what);

 private:
  static constexpr std::size_t kMost = 5;
  std::vector<std::string> breaches_;
};

std::unique_ptr<SimCheck> check_frames();    // none appears, none vanishes
std::unique_ptr<SimCheck> check_versions();  // what counts up never goes back
std::unique_ptr<SimCheck> check_finite();    // no weight of a live peer is NaN at the end
std::unique_ptr<SimCheck> check_mass();      // push-sum: total mass is what it should be
std::unique_ptr<SimCheck> check_examples();  // each has one owner, where they change hands
std::unique_ptr<SimCheck> check_mixing();    // everyone merges again when faults are over

// All of them at once.
class SimChecks {
 public:
  static constexpr std::uint64_t kLookEvery = 64;  // events

  SimChecks();
  void after_event(const SimHost& host, gossip::Time now);
  void at_end(const SimHost& host, gossip::Time now);
  std::vector<std::string> breaches() const;

 private:
  std::vector<std::unique_ptr<SimCheck>> checks_;
  std::uint64_t events_ = 0;
};

}  // namespace hearsay::runtime
