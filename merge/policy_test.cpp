// SPDX-License-Identifier: Apache-2.0
#include "merge/policy.hpp"

#include <cmath>
#include <limits>

#include "merge/policies/confidence.hpp"
#include "merge/policies/cosine_gate.hpp"
#include "merge/policies/ema.hpp"
#include "merge/policies/likeness.hpp"
#include "merge/policies/norm_clip.hpp"
#include "merge/policies/sample_weighted.hpp"
#include "merge/policies/staleness.hpp"
#include "tests/catch.hpp"

using namespace hearsay::merge;

namespace {

template <typename M>
Policy ema_with(double alpha, M modifier) {
  std::vector<std::unique_ptr<Modifier>> modifiers;
  modifiers.push_back(std::make_unique<M>(std::move(modifier)));
  return Policy(std::make_unique<Ema>(alpha, alpha, Ema::Shape::constant), std::move(modifiers));
}

Evidence evidence_with(double progress) {
  Evidence e;
  e.progress = progress;
  return e;
}

}  // namespace

TEST_CASE("alpha schedules start and end where they say and differ in between") {
  const Ema linear(0.1, 0.5, Ema::Shape::linear), cosine(0.1, 0.5, Ema::Shape::cosine);
  for (const auto* rule : {&linear, &cosine}) {
    CHECK(rule->alpha(evidence_with(0.0)) == Approx(0.1));
    CHECK(rule->alpha(evidence_with(0.5)) == Approx(0.3));
    CHECK(rule->alpha(evidence_with(1.0)) == Approx(0.5));
  }
  CHECK(cosine.alpha(evidence_with(0.25)) < linear.alpha(evidence_with(0.25)));
  CHECK(Ema(0.5, 0.1, Ema::Shape::linear).alpha(evidence_with(0.75)) == Approx(0.2));
}

TEST_CASE("sample weights add up to one over both sides and never become NaN") {
  const SampleWeighted rule;
  Evidence e;
  CHECK(rule.alpha(e) == 0.5);
  e.local_samples = 100;
  e.remote_samples = 300;
  const double mine = rule.alpha(e);
  std::swap(e.local_samples, e.remote_samples);
  CHECK(mine == Approx(0.75));
  CHECK(mine + rule.alpha(e) == Approx(1.0));
}

TEST_CASE("staleness halves alpha at the half-life and the verdict says that it was scaled") {
  const Policy policy = ema_with(0.5, Staleness(20));
  Evidence e;
  CHECK(policy.decide(e).verdict == Verdict::accept);
  CHECK(policy.decide(e).alpha == 0.5);
  e.age_steps = 20;
  CHECK(policy.decide(e).verdict == Verdict::scale);
  CHECK(policy.decide(e).alpha == Approx(0.25));
  CHECK(policy.symmetric());
}

TEST_CASE("the surer model gets the larger share, within bounds") {
  const Policy policy = ema_with(0.5, Confidence(2));
  CHECK(policy.needs_confidence());
  CHECK_FALSE(policy.symmetric());
  Evidence e;
  e.local_confidence = 0.6;
  e.remote_confidence = 0.8;
  CHECK(policy.decide(e).alpha == Approx(0.64 / (0.64 + 0.36)));
  e.local_confidence = 0.0;
  CHECK(policy.decide(e).alpha == 1.0);
  e.remote_confidence = 0.0;
  CHECK(policy.decide(e).alpha == 0.5);
}

TEST_CASE("alpha falls with unlikeness, and is whole where nothing is known") {
  const Policy plain = ema_with(0.5, Likeness(1.0)), steep = ema_with(0.5, Likeness(3.0));
  CHECK(plain.needs_likeness());
  CHECK(plain.symmetric());
  CHECK_FALSE(ema_with(0.5, Staleness(20)).needs_likeness());
  Evidence e;
  CHECK(plain.decide(e).alpha == 0.5);
  CHECK(plain.decide(e).verdict == Verdict::accept);
  for (const double alike : {0.0, 0.25, 1.0}) {
    e.alike = alike;
    CHECK(plain.decide(e).alpha == Approx(0.5 * alike));
    CHECK(steep.decide(e).alpha == Approx(0.5 * alike * alike * alike));
  }
  e.alike = 0.25;
  CHECK(plain.decide(e).verdict == Verdict::scale);
  CHECK(ema_with(0.5, Likeness(0.0)).decide(e).alpha == 0.5);
}

TEST_CASE("values that are not finite are refused whatever the rule says") {
  const Policy policy = ema_with(0.5, Staleness(20));
  Evidence e;
  e.stats.bad = 1;
  CHECK(policy.decide(e).verdict == Verdict::refuse);
  CHECK(policy.decide(e).alpha == 0.0);
  e.stats.bad = 0;
  e.stats.displacement_sq = std::numeric_limits<double>::infinity();
  CHECK(policy.decide_fixed(e, 0.5).reason == kNormExplodes);
  e.stats.displacement_sq = 1.0;
  CHECK(policy.decide_fixed(e, std::nan("")).verdict == Verdict::refuse);
  CHECK(policy.decide_fixed(e, 1.5).verdict == Verdict::refuse);
  e.stats.weights_sq = std::nan("");
  e.stats.bad = 1;
  CHECK(policy.decide(e).reason != kNotFinite);  // it is the own weights that are to blame
  CHECK(policy.decide(e).verdict == Verdict::refuse);
}

TEST_CASE("norms that explode are refused, norms that grow are not") {
  Guards guards;
  guards.most_relative_norm = 4.0;
  const Policy policy(std::make_unique<Ema>(0.5, 0.5, Ema::Shape::constant), {}, guards);
  Evidence e;
  e.stats.weights_sq = 1.0;
  e.stats.displacement_sq = 15.9;
  CHECK(policy.decide(e).verdict == Verdict::accept);
  e.stats.displacement_sq = 16.1;
  CHECK(policy.decide(e).reason == kNormExplodes);
  CHECK(policy.decide_fixed(e, 0.5).reason == kNormExplodes);
}

TEST_CASE("clipping moves the own model by alpha times the radius at most") {
  const Policy policy = ema_with(0.5, NormClip());
  CHECK_FALSE(policy.symmetric());  // a hostile partner must not choose the share
  Evidence e;
  e.clip_radius = 2.0;
  for (const double norm : {0.0, 1.0, 2.0, 10.0, 1e12}) {
    e.stats.displacement_sq = norm * norm;
    INFO("norm " << norm);
    CHECK(policy.decide(e).alpha * norm == Approx(0.5 * std::min(norm, 2.0)));
    CHECK(policy.decide(e).verdict == (norm <= 2.0 ? Verdict::accept : Verdict::scale));
  }
}

TEST_CASE("the cosine gate lets through who went the same way, whatever the distance") {
  const Policy policy = ema_with(0.5, CosineGate(0.0));
  Evidence e;  // own movement l = (1, 0), theirs t; displacement d = t - l
  const auto theirs = [&](double x, double y) {
    e.stats.local_sq = 1.0;
    e.stats.displacement_sq = (x - 1) * (x - 1) + y * y;
    e.stats.dot = x - 1;
    return policy.decide(e).verdict;
  };
  CHECK(theirs(0.1, 5) == Verdict::accept);
  CHECK(theirs(1, 0) == Verdict::accept);
  CHECK(theirs(-0.1, 5) == Verdict::refuse);
  CHECK(theirs(-1, 0) == Verdict::refuse);
  e.stats.local_sq = 0.0;
  CHECK(policy.decide(e).verdict == Verdict::accept);  // it has not moved, and cannot judge
}
