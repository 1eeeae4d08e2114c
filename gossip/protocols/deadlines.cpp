// SPDX-License-Identifier: Apache-2.0
#include "gossip/protocols/deadlines.hpp"

#include <algorithm>
#include <vector>

#include "gossip/limits.hpp"

namespace hearsay::gossip {
namespace {

constexpr int kStepsFirst = 8;     // own mini-batches, for a pool of which nothing is known
constexpr int kStepsUnknown = 16;  // the same, until an answer is overdue
constexpr auto kOverdueLeast = std::chrono::milliseconds(20);
constexpr std::uint32_t kByChance = 2;  // so many in a row where a third of all exchanges is lost

Time doubled(Time base, std::uint32_t times, Time most) {
  return std::min<Time>(base * (std::int64_t{1} << std::min(times, 16u)), most);
}

}  // namespace

void Deadlines::Estimate::add(Time took) {
  if (mean == Time{0}) {
    mean = took;
    deviation = took / 2;
    return;
  }
  const Time error = took - mean;
  mean += error / 8;
  deviation += (std::chrono::abs(error) - deviation) / 4;
}

Time Deadlines::quiet(PeerId partner, Time own_step) const {
  const auto found = by_partner_.find(partner);
  const bool met = found != by_partner_.end() && found->second.mean > Time{0};
  Time base = std::max<Time>(limits::kQuietFirst, kStepsFirst * own_step);
  if (met) {
    base = found->second.limit();
  } else if (pool_.mean > Time{0}) {
    base = 2 * pool_.limit();
  }
  base = std::clamp<Time>(base, limits::kQuietLeast, limits::kQuietMost);
  return doubled(base, found != by_partner_.end() ? found->second.quiet : 0, limits::kQuietMost);
}

Time Deadlines::overdue(Time own_step) const {
  if (recent_.empty() && own_step <= Time{0}) return limits::kQuietFirst;
  Time base = kStepsUnknown * own_step;
  if (!recent_.empty()) {
    std::vector<Time> sorted(recent_.begin(), recent_.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    base = 2 * (*middle + own_step);
  }
  base = std::clamp<Time>(base, kOverdueLeast, limits::kQuietMost);
  return doubled(base, std::max(overdue_in_a_row_, kByChance) - kByChance, limits::kQuietMost);
}

Time Deadlines::most(PeerId partner, Time own_step) const {
  constexpr int kUsual = 20;
  const auto found = by_partner_.find(partner);
  const bool met = found != by_partner_.end() && found->second.mean > Time{0};
  Time base = limits::kExchangeMost;
  if (met) {
    base = std::clamp<Time>(kUsual * found->second.limit(), limits::kExchangeLeast,
                            limits::kExchangeMostOfAll);
  } else if (pool_.mean > Time{0}) {
    base = std::clamp<Time>(2 * kUsual * pool_.limit(), limits::kExchangeLeast, base);
  }
  if (!met) base = std::max<Time>(base, kStepsFirst * own_step);
  return doubled(base, found != by_partner_.end() ? found->second.slow : 0,
                 limits::kExchangeMostOfAll);
}

void Deadlines::answered(PeerId partner, Time took) {
  Estimate& estimate = by_partner_[partner];
  estimate.add(took);
  estimate.quiet = 0;
  pool_.add(took);
  recent_.push_back(took);
  if (recent_.size() > kRecent) recent_.pop_front();
  overdue_in_a_row_ = 0;
}

void Deadlines::refused(PeerId partner) {
  by_partner_[partner].quiet = 0;
  overdue_in_a_row_ = 0;
}
void Deadlines::stayed_quiet(PeerId partner) { ++by_partner_[partner].quiet; }
void Deadlines::was_too_slow(PeerId partner) { ++by_partner_[partner].slow; }

}  // namespace hearsay::gossip
