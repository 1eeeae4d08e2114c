// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/build_outer.hpp"

#include <string>
#include <vector>

#include "kernels/core/errc.hpp"
#include "runtime/config/protocol_kinds.hpp"

namespace hearsay::runtime {
namespace {

using gossip::OuterSettings;
using kernels::UsageError;
using Kind = OuterSettings::Kind;

const std::string kOption = "--outer", kNone = "none";
constexpr std::uint64_t kMostPeriod = 1024;

void refuse_modifiers(const std::string& option, const Spec& spec) {
  if (!spec.modifiers.empty())
    throw UsageError(option + " " + spec.text + ": no '+' modifiers here");
}

double number(const std::string& option, const Spec& spec, const char* key, const char* standard) {
  return parse_number(option, spec.arg(key).value_or(standard));
}

double rate(const std::string& option, const Spec& spec, const char* key) {
  const double value = number(option, spec, key, "0.7");
  if (!(value > 0.0 && value <= 2.0)) {
    throw UsageError(option + " " + spec.text + ": " + key +
                     ", the share of a block's step that is taken, lies above 0 and up to 2");
  }
  return value;
}

double momentum(const std::string& option, const Spec& spec, const char* standard) {
  const double value = number(option, spec, "mu", standard);
  if (!(value >= 0.0 && value < 1.0)) {
    throw UsageError(option + " " + spec.text + ": mu, the momentum, lies between 0 and 1 (not 1)");
  }
  return value;
}

OuterSettings nesterov(const std::string& option, const Spec& spec,
                       const std::vector<std::string>& known = {"lr", "mu"}) {
  reject_unknown(option, spec, known, 0);
  OuterSettings settings;
  settings.kind = Kind::nesterov;
  settings.rate = rate(option, spec, "lr");
  settings.momentum = momentum(option, spec, "0.9");
  return settings;
}

OuterSettings noloco(const Spec& spec) {
  reject_unknown(kOption, spec, {"a", "gamma", "mu"}, 0);
  OuterSettings settings;
  settings.kind = Kind::noloco;
  settings.rate = rate(kOption, spec, "a");
  settings.momentum = momentum(kOption, spec, "0.5");
  settings.gamma = number(kOption, spec, "gamma", "0.7");
  if (!(settings.gamma > 0.0) || !settings.contracts()) {
    throw UsageError(
        kOption + " " + spec.text + ": gamma lies above 0 and below 2 (1 - mu^2) = " +
        std::to_string(2.0 * (1.0 - settings.momentum * settings.momentum)).substr(0, 5) +
        "; from there on the peers drift apart");
  }
  return settings;
}

OuterSettings delayed(const Spec& spec) {
  reject_unknown(kOption, spec, {"lr", "mu", "n", "c"}, 0);
  OuterSettings settings;
  settings.kind = Kind::delayed;
  settings.rate = rate(kOption, spec, "lr");
  settings.momentum = momentum(kOption, spec, "0.9");
  const std::uint64_t period = parse_count(kOption, spec.arg("n").value_or("4"));
  if (period < 1 || period > kMostPeriod) {
    throw UsageError(kOption + " " + spec.text + ": n, merges to a step of momentum, is 1 to " +
                     std::to_string(kMostPeriod));
  }
  settings.period = static_cast<std::uint32_t>(period);
  settings.activation = number(kOption, spec, "c", "0");
  if (!(settings.activation >= 0.0 && settings.activation * static_cast<double>(period) <= 1.0)) {
    throw UsageError(kOption + " " + spec.text + ": c lies between 0 and 1 / n");
  }
  return settings;
}

[[noreturn]] void refuse(const RunConfig& config, const std::string& why) {
  throw UsageError(kOption + " " + config.outer.text + ": " + why);
}

}  // namespace

std::optional<OuterSettings> outer_settings(const Spec& outer) {
  refuse_modifiers(kOption, outer);
  if (outer.name == kNone) {
    reject_unknown(kOption, outer, {}, 0);
    return std::nullopt;
  }
  if (outer.name == "nesterov") return nesterov(kOption, outer);
  if (outer.name == "noloco") return noloco(outer);
  if (outer.name == "delayed") return delayed(outer);
  throw_unknown("outer optimiser", outer.name, {kNone, "nesterov", "noloco", "delayed"});
}

OuterSettings diloco_settings(const Spec& protocol) {
  refuse_modifiers("--protocol", protocol);
  return nesterov("--protocol", protocol, {"lr", "mu", "feedback"});  // build_reduce.hpp
}

void refuse_outer_where_it_does_not_fit(const RunConfig& config, const merge::Policy& policy) {
  if (config.outer.name == kNone) return;
  const std::string& protocol = config.protocol.name;
  if (protocol == "diloco")
    refuse(config, "--protocol diloco has its own; say diloco:lr=0.7,mu=0.9 and leave this out");
  if (is_baseline(protocol)) {
    refuse(config, "has no effect on --protocol " + protocol +
                       ", which has no blocks between merges; leave it out (a peer alone: --peers "
                       "1)");
  }
  if (protocol == "push-sum") {
    refuse(config,
           "--protocol push-sum weighs models by masses, and slow weights would need their "
           "own; take pairwise or push");
  }
  if (protocol == "choco") {
    refuse(config,
           "--protocol choco moves towards copies a little at each message, and a step of "
           "slow weights would count each of them as a block; take pairwise or push");
  }
  if (policy.guards().crowd) {
    refuse(config, "--merge " + config.merge.name +
                       " moves to the centre of several models, which is no step of one pair; "
                       "take ema or sample-weighted");
  }
  if (policy.guards().gate_kappa) {
    refuse(config,
           "--merge +gate judges a plain merge, which is not what would be done; leave one "
           "of them out");
  }
}

}  // namespace hearsay::runtime
