// SPDX-License-Identifier: Apache-2.0
#include "merge/policy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::merge {

Policy::Policy(std::unique_ptr<Rule> rule, std::vector<std::unique_ptr<Modifier>> modifiers)
    : rule_(std::move(rule)), modifiers_(std::move(modifiers)), symmetric_(rule_->symmetric()) {
  for (const auto& modifier : modifiers_) {
    symmetric_ = symmetric_ && modifier->symmetric();
    needs_confidence_ = needs_confidence_ || modifier->needs_confidence();
  }
}

Decision Policy::decide(const Evidence& evidence) const {
  const double proposed = rule_->alpha(evidence);
  double alpha = proposed;
  for (const auto& modifier : modifiers_) alpha *= modifier->factor(evidence);
  Decision decision = decide_fixed(evidence, std::clamp(alpha, 0.0, 1.0));
  if (decision.verdict == Verdict::accept && alpha != proposed)
    decision = {Verdict::scale, decision.alpha, "modifier"};
  return decision;
}

Decision Policy::decide_fixed(const Evidence& evidence, double alpha) {
  if (evidence.stats.bad > 0) return {Verdict::refuse, 0.0, "not finite"};
  if (!std::isfinite(evidence.stats.displacement_sq))
    return {Verdict::refuse, 0.0, "norm overflow"};
  if (!(alpha >= 0.0 && alpha <= 1.0)) return {Verdict::refuse, 0.0, "alpha out of range"};
  return {Verdict::accept, alpha, ""};
}

}  // namespace hearsay::merge
