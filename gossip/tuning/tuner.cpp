// SPDX-License-Identifier: Apache-2.0
#include "gossip/tuning/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

constexpr int kValues = 2 * Tuner::kMostSteps + 1;  // of one setting

// Nothing to learn from where the own loss is 0; everything where it is no number and the other is.
double relative_gain(double own_loss, double their_loss) {
  if (!std::isfinite(their_loss)) return 0.0;
  if (!std::isfinite(own_loss)) return 1.0;
  return own_loss > 0.0 ? (own_loss - their_loss) / own_loss : 0.0;
}

}  // namespace

Tuner::Tuner(const TunePlan& plan, std::uint64_t seed, PeerId self)
    : plan_(plan), rng_(kernels::Rng::stream(seed, "tune", self.value)) {
  HS_CHECK(plan.step > 1.0 && plan.eager >= 0.0);
  change();
}

double Tuner::factor(int steps) const { return std::pow(plan_.step, steps); }

double Tuner::code(const Choice& choice) {
  return 1.0 + (choice.lr + kMostSteps) + kValues * (choice.alpha + kMostSteps);
}

std::optional<Tuner::Choice> Tuner::decode(double code) {
  if (!(code >= 1.0 && code <= kValues * kValues) || code != std::floor(code)) return std::nullopt;
  const int index = static_cast<int>(code) - 1;
  return Choice{index % kValues - kMostSteps, index / kValues - kMostSteps};
}

// One step up or down of everything that is learned.
void Tuner::change() {
  for (const auto& [is_learned, steps] :
       {std::pair{plan_.lr, &choice_.lr}, std::pair{plan_.alpha, &choice_.alpha}}) {
    if (is_learned)
      *steps = std::clamp(*steps + (rng_.uniform() < 0.5 ? -1 : 1), -kMostSteps, kMostSteps);
  }
}

bool Tuner::meet(const Choice& theirs, double own_loss, double their_loss) {
  const double drawn = rng_.uniform();
  if (drawn >= plan_.eager * relative_gain(own_loss, their_loss)) return false;
  if (plan_.lr) choice_.lr = theirs.lr;
  if (plan_.alpha) choice_.alpha = theirs.alpha;
  change();
  return true;
}

Event Tuner::event(std::string_view name) const {
  Event event(name);
  if (plan_.lr) event.add("lr", lr_factor());
  if (plan_.alpha) event.add("alpha", alpha_factor());
  return event;
}

void Tuner::state(Archive& archive) {
  double code = Tuner::code(choice_);
  archive("rng", rng_)("choice", code);
  if (!archive.loading()) return;
  const auto choice = decode(code);
  if (!choice) archive.fail("choice", "is none");
  choice_ = *choice;
}

}  // namespace hearsay::gossip
