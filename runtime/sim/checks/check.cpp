// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/checks/check.hpp"

#include <chrono>
#include <cstdio>

namespace hearsay::runtime {

void SimCheck::broken(gossip::Time now, const std::string& what) {
  if (breaches_.size() >= kMost) return;
  char at[32];
  std::snprintf(at, sizeof at, " at %.6f s", std::chrono::duration<double>(now).count());
  breaches_.push_back(what + at);
}

SimChecks::SimChecks() {
  for (const auto make :
       {check_frames, check_versions, check_finite, check_mass, check_examples, check_mixing})
    checks_.push_back(make());
}

void SimChecks::after_event(const SimHost& host, gossip::Time now) {
  if (++events_ % kLookEvery != 0) return;
  for (const auto& check : checks_) check->look(host, now);
}

void SimChecks::at_end(const SimHost& host, gossip::Time now) {
  for (const auto& check : checks_) check->at_end(host, now);
}

std::vector<std::string> SimChecks::breaches() const {
  std::vector<std::string> all;
  for (const auto& check : checks_)
    all.insert(all.end(), check->breaches().begin(), check->breaches().end());
  return all;
}

}  // namespace hearsay::runtime
