// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/journeys.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace hearsay::runtime::report {

std::vector<Journey> journeys_of(const RunFacts& facts) {
  std::map<std::uint32_t, Journey> by_id;
  for (const Delivery& delivery : facts.deliveries) {
    for (const std::uint32_t id : delivery.ids) {
      by_id[id].id = id;
      by_id[id].legs.push_back(&delivery);
    }
  }
  for (const Lesson& lesson : facts.lessons) {
    const auto found = by_id.find(lesson.id);
    if (found != by_id.end()) found->second.lessons.push_back(&lesson);
  }
  std::vector<Journey> out;
  for (auto& [id, journey] : by_id) out.push_back(std::move(journey));
  std::stable_sort(out.begin(), out.end(), [](const Journey& a, const Journey& b) {
    return a.legs.size() > b.legs.size();
  });
  return out;
}

}  // namespace hearsay::runtime::report
