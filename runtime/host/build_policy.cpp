// SPDX-License-Identifier: Apache-2.0
// --merge: from its text to a policy.
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/errc.hpp"
#include "kernels/ops/crowd_ops.hpp"
#include "merge/policies/confidence.hpp"
#include "merge/policies/cosine_gate.hpp"
#include "merge/policies/ema.hpp"
#include "merge/policies/likeness.hpp"
#include "merge/policies/norm_clip.hpp"
#include "merge/policies/sample_weighted.hpp"
#include "merge/policies/staleness.hpp"
#include "runtime/config/text_range.hpp"
#include "runtime/host/assembly.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;

// Refused in every pool: displacements of more than this many times the own norm.
constexpr double kMostRelativeNorm = 4.0;

double share(const std::string& text) {
  const double value = parse_share("--merge", text);
  if (!(value >= 0.0 && value <= 1.0))
    throw UsageError("--merge: a share lies between 0 and 1, not " + text);
  return value;
}

std::unique_ptr<merge::Rule> build_ema(const Spec& spec) {
  reject_unknown("--merge", spec, {"a", "shape"}, 1);
  const std::string text =
      spec.values.empty() ? spec.arg("a").value_or("0.5") : spec.values.front();
  if (!spec.values.empty() && spec.arg("a"))
    throw UsageError("--merge: give the share once, as ema:0.5 or ema:a=0.5");
  const TextRange range = split_range(text);
  if (!range.to) {
    if (spec.arg("shape"))
      throw UsageError("--merge: shape needs a range, such as ema:a=0.1..0.5,shape=linear");
    const double a = share(text);
    return std::make_unique<merge::Ema>(a, a, merge::Ema::Shape::constant);
  }
  const double first = share(range.from), last = share(*range.to);
  const std::string shape = spec.arg("shape").value_or("linear");
  if (shape != "linear" && shape != "cosine") throw_unknown("shape", shape, {"linear", "cosine"});
  return std::make_unique<merge::Ema>(
      first, last, shape == "linear" ? merge::Ema::Shape::linear : merge::Ema::Shape::cosine);
}

std::unique_ptr<merge::Modifier> build_modifier(const Spec& spec) {
  if (spec.name == "staleness") {
    reject_unknown("--merge", spec, {"half-life"}, 0);
    const double half_life = parse_number("--merge", spec.arg("half-life").value_or("20"));
    if (!(half_life > 0.0))
      throw UsageError("--merge: staleness half-life must be above 0 mini-batches");
    return std::make_unique<merge::Staleness>(half_life);
  }
  if (spec.name == "confidence") {
    reject_unknown("--merge", spec, {"g"}, 0);
    const double exponent = parse_number("--merge", spec.arg("g").value_or("2"));
    if (!(exponent >= 0.0)) throw UsageError("--merge: confidence exponent g must not be negative");
    return std::make_unique<merge::Confidence>(exponent);
  }
  if (spec.name == "alike") {
    reject_unknown("--merge", spec, {"g"}, 0);
    const double exponent = parse_number("--merge", spec.arg("g").value_or("1"));
    if (!(exponent >= 0.0 && exponent <= 64.0))
      throw UsageError("--merge: alike's exponent g lies between 0 and 64");
    return std::make_unique<merge::Likeness>(exponent);
  }
  if (spec.name == "norm-clip") {
    reject_unknown("--merge", spec, {}, 0);
    return std::make_unique<merge::NormClip>();
  }
  if (spec.name == "cosine-gate") {
    reject_unknown("--merge", spec, {}, 1);
    const double least = parse_number("--merge", spec.values.empty() ? "0" : spec.values.front());
    if (!(least >= -1.0 && least <= 1.0))
      throw UsageError("--merge: a cosine lies between -1 and 1, not " + spec.values.front());
    return std::make_unique<merge::CosineGate>(least);
  }
  throw_unknown("merge modifier", spec.name,
                {"staleness", "confidence", "alike", "norm-clip", "cosine-gate", "gate"});
}

double gate_kappa(const Spec& spec) {
  reject_unknown("--merge", spec, {"kappa"}, 0);
  const double kappa = parse_number("--merge", spec.arg("kappa").value_or("1"));
  if (!(kappa >= 0.0 && kappa <= 100.0))
    throw UsageError("--merge: the gate's kappa lies between 0 and 100 standard errors");
  return kappa;
}

// median:b=5, trimmed-mean:b=5,f=1, krum:b=5,f=1; a=0.5 in each.
merge::CrowdRule crowd_rule(const Spec& spec, std::uint32_t neighbours) {
  using Kind = merge::CrowdRule::Kind;
  const bool is_median = spec.name == "median";
  if (is_median) {
    reject_unknown("--merge", spec, {"a", "b"}, 0);
  } else {
    reject_unknown("--merge", spec, {"a", "b", "f"}, 0);
  }
  const std::uint64_t models = parse_count("--merge", spec.arg("b").value_or("5"));
  const std::uint64_t hostile = is_median ? 0 : parse_count("--merge", spec.arg("f").value_or("1"));
  if (models < 1 || models >= kernels::kCrowdMost) {
    throw UsageError("--merge: " + spec.name + " holds b = 1 to " +
                     std::to_string(kernels::kCrowdMost - 1) + " models, not " +
                     std::to_string(models));
  }
  if (neighbours > 0 && models > neighbours) {
    throw UsageError("--merge: " + spec.name + " waits for b = " + std::to_string(models) +
                     " models of different peers, but a peer has " + std::to_string(neighbours) +
                     (neighbours == 1 ? " neighbour" : " neighbours") +
                     "; take b=" + std::to_string(neighbours));
  }
  if (models < 2 * hostile + 1) {
    throw UsageError("--merge: " + spec.name + ": b = " + std::to_string(models) +
                     " models outvote f = " + std::to_string(hostile) +
                     " hostile ones only from b = 2 f + 1 on");
  }
  return {is_median                     ? Kind::median
          : spec.name == "trimmed-mean" ? Kind::trimmed_mean
                                        : Kind::krum,
          static_cast<std::uint32_t>(models), static_cast<std::uint32_t>(hostile)};
}

std::unique_ptr<merge::Rule> build_rule(const Spec& spec, std::uint32_t neighbours,
                                        merge::Guards& guards) {
  if (spec.name == "ema") return build_ema(spec);
  if (spec.name == "sample-weighted") {
    reject_unknown("--merge", spec, {}, 0);
    return std::make_unique<merge::SampleWeighted>();
  }
  if (spec.name == "median" || spec.name == "trimmed-mean" || spec.name == "krum") {
    guards.crowd = crowd_rule(spec, neighbours);
    const double a = share(spec.arg("a").value_or("0.5"));
    return std::make_unique<merge::Ema>(a, a, merge::Ema::Shape::constant);
  }
  throw_unknown("merge rule", spec.name,
                {"ema", "sample-weighted", "median", "trimmed-mean", "krum"});
}

}  // namespace

std::shared_ptr<const merge::Policy> build_policy(const Spec& spec, std::uint32_t neighbours) {
  merge::Guards guards;
  guards.most_relative_norm = kMostRelativeNorm;
  auto rule = build_rule(spec, neighbours, guards);
  std::vector<std::unique_ptr<merge::Modifier>> modifiers;
  for (const Spec& modifier : spec.modifiers) {
    if (modifier.name == "gate") {
      guards.gate_kappa = gate_kappa(modifier);
    } else {
      modifiers.push_back(build_modifier(modifier));
    }
  }
  if (guards.crowd && guards.gate_kappa) {
    throw UsageError("--merge: +gate judges single models, and " + spec.name +
                     " merges the centre of several; leave one of them out");
  }
  return std::make_shared<const merge::Policy>(std::move(rule), std::move(modifiers), guards);
}

}  // namespace hearsay::runtime
