// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/training_clock.hpp"

#include <algorithm>
#include <cmath>

namespace hearsay::runtime {

void TrainingClock::add(std::int64_t t_ns, std::uint64_t trained, std::uint64_t samples) {
  if (!knots_.empty()) {  // a damaged log may run backwards
    t_ns = std::max(t_ns, knots_.back().t_ns);
    trained = std::max(trained, knots_.back().trained);
  }
  knots_.push_back({t_ns, trained, samples});
}

void TrainingClock::begin(std::int64_t t_ns, std::uint64_t samples) {
  add(t_ns, knots_.empty() ? 0 : knots_.back().trained, samples);
  trains_ = false;
}

void TrainingClock::block_begins(std::int64_t t_ns) {
  trains_ = true;
  trains_since_ns_ = t_ns;
}

void TrainingClock::block_ends(std::int64_t t_ns, std::uint64_t samples, std::int64_t spent_ns) {
  if (knots_.empty()) add(t_ns, 0, 0);
  const Knot before = knots_.back();
  const std::uint64_t more = samples > before.samples ? samples - before.samples : 0;
  spent_ns = std::clamp<std::int64_t>(spent_ns, 0, t_ns > 0 ? t_ns : 0);
  const std::int64_t began_ns = t_ns - spent_ns;
  if (began_ns > before.t_ns) add(began_ns, before.trained, before.samples);
  const std::int64_t took_ns = t_ns - knots_.back().t_ns;
  samples_per_ns_ = took_ns > 0 ? static_cast<double>(more) / static_cast<double>(took_ns) : 0.0;
  add(t_ns, before.trained + more, samples);
  trains_ = false;
}

void TrainingClock::jump(std::int64_t t_ns, std::uint64_t samples) {
  if (!knots_.empty()) add(t_ns, knots_.back().trained, knots_.back().samples);
  add(t_ns, knots_.empty() ? 0 : knots_.back().trained, samples);
  trains_ = false;
}

TrainingClock::Knot TrainingClock::at(std::int64_t t_ns) const {
  const auto after =
      std::upper_bound(knots_.begin(), knots_.end(), t_ns,
                       [](std::int64_t t, const Knot& knot) { return t < knot.t_ns; });
  if (after == knots_.begin()) {
    return knots_.empty() ? Knot{t_ns, 0, 0} : knots_.front();
  }
  Knot here = *(after - 1);
  double more = 0.0;
  if (after != knots_.end()) {
    const double share = static_cast<double>(t_ns - here.t_ns) /
                         static_cast<double>(after->t_ns - here.t_ns);  // > 0: upper_bound
    more = share * static_cast<double>(after->trained - here.trained);
  } else if (trains_) {
    const std::int64_t since_ns = std::max(here.t_ns, trains_since_ns_);
    more = std::max(0.0, samples_per_ns_ * static_cast<double>(t_ns - since_ns));
  }
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(more, 0x1p62)));
  return {t_ns, here.trained + whole, here.samples + whole};
}

std::uint64_t TrainingClock::trained_at(std::int64_t t_ns) const { return at(t_ns).trained; }
std::uint64_t TrainingClock::samples_at(std::int64_t t_ns) const { return at(t_ns).samples; }

}  // namespace hearsay::runtime
