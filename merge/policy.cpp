// SPDX-License-Identifier: Apache-2.0
#include "merge/policy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::merge {

Policy::Policy(std::unique_ptr<Rule> rule, std::vector<std::unique_ptr<Modifier>> modifiers,
               Guards guards)
    : rule_(std::move(rule)),
      modifiers_(std::move(modifiers)),
      guards_(guards),
      symmetric_(rule_->symmetric() && !guards.gate_kappa && !guards.crowd) {
  for (const auto& modifier : modifiers_) {
    symmetric_ = symmetric_ && modifier->symmetric();
    needs_confidence_ = needs_confidence_ || modifier->needs_confidence();
    needs_likeness_ = needs_likeness_ || modifier->needs_likeness();
  }
}

Decision Policy::decide(const Evidence& evidence) const {
  const double proposed = rule_->alpha(evidence);
  double alpha = proposed;
  for (const auto& modifier : modifiers_) alpha *= modifier->factor(evidence);
  Decision decision = decide_fixed(evidence, std::clamp(alpha, 0.0, 1.0));
  if (decision.verdict == Verdict::refuse) return decision;
  for (const auto& modifier : modifiers_) {
    const std::string_view objection = modifier->objection(evidence);
    if (!objection.empty()) return {Verdict::refuse, 0.0, objection};
  }
  if (alpha != proposed) decision = {Verdict::scale, decision.alpha, "modifier"};
  return decision;
}

Decision Policy::decide_fixed(const Evidence& evidence, double alpha) const {
  if (!evidence.own_weights_finite()) return {Verdict::refuse, 0.0, "own weights are not finite"};
  if (evidence.stats.bad > 0) return {Verdict::refuse, 0.0, kNotFinite};
  if (!std::isfinite(evidence.stats.displacement_sq) ||
      evidence.relative_norm() > guards_.most_relative_norm)
    return {Verdict::refuse, 0.0, kNormExplodes};
  if (!(alpha >= 0.0 && alpha <= 1.0)) return {Verdict::refuse, 0.0, "alpha out of range"};
  return {Verdict::accept, alpha, ""};
}

}  // namespace hearsay::merge
