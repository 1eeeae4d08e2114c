// SPDX-License-Identifier: Apache-2.0
// Where examples went, one by one: the most travelled first. Pure. Cost: O(deliveries log).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/report/run_facts.hpp"

namespace hearsay::runtime::report {

struct Journey {
  std::uint32_t id = 0;
  std::vector<const Delivery*> legs;   // by time
  std::vector<const Lesson*> lessons;  // as told
};

// Of all examples whose ids were logged; equals by id. Refers to the facts.
std::vector<Journey> journeys_of(const RunFacts& facts);

inline constexpr std::size_t kMostJourneys = 24;  // that are drawn

}  // namespace hearsay::runtime::report
