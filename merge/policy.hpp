// SPDX-License-Identifier: Apache-2.0
// A merge policy: one rule that proposes alpha and any number of modifiers that scale it. Pure and
// thread-safe; the compute lane calls it once per arriving model. Cost: O(1), touches no tensor.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "merge/crowd.hpp"
#include "merge/decision.hpp"
#include "merge/evidence.hpp"

namespace hearsay::merge {

// Proposes alpha, the share of the incoming model.
class Rule {
 public:
  virtual ~Rule() = default;
  virtual double alpha(const Evidence& evidence) const = 0;
  // True when both sides of an exchange must use the same alpha, which keeps the pool's mean.
  virtual bool symmetric() const { return true; }
};

// Multiplies alpha, or refuses.
class Modifier {
 public:
  virtual ~Modifier() = default;
  virtual double factor(const Evidence& evidence) const = 0;
  virtual std::string_view objection(const Evidence&) const { return {}; }  // empty: none
  virtual bool symmetric() const { return true; }
  virtual bool needs_confidence() const { return false; }
  virtual bool needs_likeness() const { return false; }
};

// What stands between an arrived model and the own weights, beside the rule.
struct Guards {
  // Refused: displacements above this multiple of the own norm. At 4, every model of more than 5
  // times the own norm, and none below 3 times.
  double most_relative_norm = std::numeric_limits<double>::infinity();
  // Accepted only if the loss on the probe set rises by no more than this many standard errors of
  // the paired differences; half of alpha, then a quarter, are tried before refusing.
  std::optional<double> gate_kappa;
  std::optional<CrowdRule> crowd;  // hold models, merge their centre
};

class Policy {
 public:
  Policy(std::unique_ptr<Rule> rule, std::vector<std::unique_ptr<Modifier>> modifiers,
         Guards guards = {});

  // Refuses values that are not finite and norms that explode; otherwise clamp(rule * modifiers, 0,
  // 1).
  Decision decide(const Evidence& evidence) const;
  // The same checks when alpha is already fixed: by the partner of a symmetric exchange, or by
  // push-sum masses.
  Decision decide_fixed(const Evidence& evidence, double alpha) const;

  const Guards& guards() const noexcept { return guards_; }
  bool symmetric() const noexcept { return symmetric_; }
  bool needs_confidence() const noexcept { return needs_confidence_; }
  bool needs_likeness() const noexcept { return needs_likeness_; }

 private:
  std::unique_ptr<Rule> rule_;
  std::vector<std::unique_ptr<Modifier>> modifiers_;
  Guards guards_;
  bool symmetric_ = true;
  bool needs_confidence_ = false;
  bool needs_likeness_ = false;
};

// Refusals that speak against the sender, not against the moment.
inline constexpr std::string_view kNotFinite = "not finite", kNormExplodes = "norm explodes";

}  // namespace hearsay::merge
