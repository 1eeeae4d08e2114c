// SPDX-License-Identifier: Apache-2.0
// A merge policy: one rule that proposes alpha and any number of modifiers that scale it. Pure and
// thread-safe; the compute lane calls it once per arriving model. Cost: O(1), touches no tensor.
#pragma once

#include <memory>
#include <vector>

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

// Multiplies alpha.
class Modifier {
 public:
  virtual ~Modifier() = default;
  virtual double factor(const Evidence& evidence) const = 0;
  virtual bool symmetric() const { return true; }
  virtual bool needs_confidence() const { return false; }
};

class Policy {
 public:
  Policy(std::unique_ptr<Rule> rule, std::vector<std::unique_ptr<Modifier>> modifiers);

  // Refuses values that are not finite; otherwise clamp(rule * modifiers, 0, 1).
  Decision decide(const Evidence& evidence) const;
  // The same checks when alpha is already fixed: by the partner of a symmetric exchange, or by
  // push-sum masses.
  static Decision decide_fixed(const Evidence& evidence, double alpha);

  bool symmetric() const noexcept { return symmetric_; }
  bool needs_confidence() const noexcept { return needs_confidence_; }

 private:
  std::unique_ptr<Rule> rule_;
  std::vector<std::unique_ptr<Modifier>> modifiers_;
  bool symmetric_ = true;
  bool needs_confidence_ = false;
};

}  // namespace hearsay::merge
