// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/example_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "gossip/examples/transfers.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/config/protocol_kinds.hpp"
#include "runtime/config/text_range.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;

const std::string kShare = "--share";
const std::string kSampling = "--sampling", kRetire = "--retire", kQuarantine = "--quarantine";

void refuse_modifiers(const std::string& option, const Spec& spec) {
  if (!spec.modifiers.empty())
    throw UsageError(option + " " + spec.text + ": no '+' modifiers here");
}

// A number between two bounds, or a complaint that names them.
void read_number(const std::string& option, const Spec& spec, const char* key, double least,
                 double most, double& value) {
  const auto text = spec.arg(key);
  if (!text) return;
  value = parse_number(option, *text);
  if (!(value >= least && value <= most)) {
    char bounds[64];
    std::snprintf(bounds, sizeof bounds, "%g to %g", least, most);
    throw UsageError(option + " " + key + "=" + *text + ": " + bounds);
  }
}

void read_share(const std::string& option, const Spec& spec, const char* key, double& value) {
  if (const auto text = spec.arg(key)) value = parse_share(option, *text);
}

template <typename Count>
void read_count(const std::string& option, const Spec& spec, const char* key, std::uint64_t least,
                std::uint64_t most, Count& value) {
  const auto text = spec.arg(key);
  if (!text) return;
  const std::uint64_t count = parse_count(option, *text);
  if (count < least || count > most) {
    throw UsageError(option + " " + key + "=" + *text + ": " + std::to_string(least) + " to " +
                     std::to_string(most));
  }
  value = static_cast<Count>(count);
}

// zeta=0..1, or one number.
void read_zeta(const Spec& spec, SamplingPlan& plan) {
  const auto text = spec.arg("zeta");
  if (!text) return;
  const TextRange range = split_range(*text);
  plan.zeta_first = parse_number(kSampling, range.from);
  plan.zeta_last = range.to ? parse_number(kSampling, *range.to) : plan.zeta_first;
  const auto is_share = [](double zeta) { return zeta >= 0.0 && zeta <= 1.0; };
  if (!is_share(plan.zeta_first) || !is_share(plan.zeta_last))
    throw UsageError(kSampling + " zeta=" + *text + ": from 0 (as drawn) to 1 (without bias)");
}

void read_sampling(const Spec& spec, SamplingPlan& plan) {
  refuse_modifiers(kSampling, spec);
  if (spec.name == "uniform") return reject_unknown(kSampling, spec, {}, 0);
  if (spec.name == "hard")
    plan.rule = SamplingPlan::Rule::hard;
  else if (spec.name == "rho")
    plan.rule = SamplingPlan::Rule::rho;
  else
    throw_unknown("sampling", spec.name, {"uniform", "hard", "rho"});
  reject_unknown(kSampling, spec, {"g", "floor", "age", "zeta", "clip", "every"}, 0);
  read_number(kSampling, spec, "g", 0.0, 8.0, plan.gain);
  read_number(kSampling, spec, "floor", 0.001, 10.0, plan.floor);
  read_number(kSampling, spec, "age", 0.0, 10.0, plan.age);
  read_number(kSampling, spec, "clip", 1.0, 1000.0, plan.clip);
  read_zeta(spec, plan);
}

RetirePlan read_retire(const Spec& spec) {
  if (spec.name != "agreed") throw_unknown("retire", spec.name, {"off", "agreed"});
  reject_unknown(kRetire, spec,
                 {"reserve", "retire", "confident", "forgotten", "alike", "most", "every"}, 0);
  RetirePlan plan;
  read_count(kRetire, spec, "reserve", 1, 1000, plan.reserve_models);
  read_share(kRetire, spec, "retire", plan.retire_share);
  read_number(kRetire, spec, "confident", 0.5, 1.0, plan.confident);
  read_number(kRetire, spec, "forgotten", 0.0, 1.0, plan.forgotten);
  read_number(kRetire, spec, "alike", 0.0, 1.0, plan.alike);
  read_share(kRetire, spec, "most", plan.most);
  if (plan.forgotten > plan.confident) {
    throw UsageError(kRetire + " " + spec.text +
                     ": forgotten must not be above confident, or nothing would retire for long");
  }
  return plan;
}

QuarantinePlan read_quarantine(const Spec& spec) {
  if (spec.name != "hard") throw_unknown("quarantine", spec.name, {"off", "hard"});
  reject_unknown(kQuarantine, spec, {"confidence", "spread", "models", "every"}, 0);
  QuarantinePlan plan;
  read_number(kQuarantine, spec, "confidence", 0.0, 1.0, plan.confidence);
  read_number(kQuarantine, spec, "spread", 0.0, 1.0, plan.spread);
  read_count(kQuarantine, spec, "models", 1, 1000, plan.judges);
  return plan;
}

PassingPlan::By read_rule(const std::string& name) {
  using By = PassingPlan::By;
  std::vector<std::string> known;
  for (const By by :
       {By::sender, By::receiver, By::random, By::classes, By::novel, By::signed_, By::rho}) {
    if (name == name_of(by)) return by;
    known.push_back(name_of(by));
  }
  throw_unknown("rule of --share hard", name, known);
}

// hard:64,by=sender,mode=swap,g=1,sign=1
PassingPlan read_hard(const RunConfig& config, const Spec& spec) {
  reject_unknown(kShare, spec, {"by", "mode", "g", "sign"}, 1);
  PassingPlan plan;
  if (!spec.values.empty()) {
    const std::uint64_t most = parse_count(kShare, spec.values.front());
    if (most < 1 || most > gossip::kMostOffered)
      throw UsageError(kShare + " hard: 1 to 64 examples a merge, not " + spec.values.front());
    plan.most = static_cast<std::uint32_t>(most);
  }
  if (const auto by = spec.arg("by")) plan.by = read_rule(*by);
  const std::string mode = spec.arg("mode").value_or("swap");
  if (mode != "swap" && mode != "copy") throw_unknown("mode", mode, {"swap", "copy"});
  plan.copies = mode == "copy";
  const bool is_signed = plan.by == PassingPlan::By::signed_;
  if (!is_signed && (spec.arg("g") || spec.arg("sign")))
    throw UsageError(kShare + " hard: g and sign belong to by=signed");
  read_number(kShare, spec, "g", 0.0, 8.0, plan.gain);
  if (const auto sign = spec.arg("sign")) {
    if (*sign != "1" && *sign != "0" && *sign != "-1")
      throw UsageError(kShare + " hard sign=" + *sign + ": 1, 0 or -1");
    plan.sign = std::stoi(*sign);
  }
  if (is_signed && config.cluster.name != "agglo") {
    throw UsageError(kShare +
                     " hard by=signed: how alike two peers are is told by sketches; add "
                     "--cluster agglo");
  }
  const std::string& protocol = config.protocol.name;
  if (is_baseline(protocol) || protocol == "choco")
    throw UsageError(kShare + " hard: has no effect on --protocol " + protocol + "; leave it out");
  return plan;
}

void refuse_without_models(const RunConfig& config) {
  const std::string& protocol = config.protocol.name;
  if (is_synchronous(protocol)) {
    for (const auto& [option, spec] :
         {std::pair{kSampling, &config.sampling}, std::pair{kRetire, &config.retire},
          std::pair{kQuarantine, &config.quarantine}}) {
      if (spec->name != "off" && spec->name != "uniform") {
        throw UsageError(option + " " + spec->text + ": the peers of --protocol " + protocol +
                         " train on equal batches in step; leave it out");
      }
    }
  }
  if (protocol != "local" && protocol != "choco") return;
  const bool rho = config.sampling.name == "rho";
  const bool needs_others = rho || config.retire.name != "off" || config.quarantine.name != "off";
  if (needs_others) {
    const Spec& spec = rho                           ? config.sampling
                       : config.retire.name != "off" ? config.retire
                                                     : config.quarantine;
    throw UsageError((rho                       ? kSampling
                      : &spec == &config.retire ? kRetire
                                                : kQuarantine) +
                     " " + spec.text + ": asks other peers' models, and --protocol " + protocol +
                     " meets none");
  }
}

}  // namespace

std::shared_ptr<const ExamplePlan> build_examples(const RunConfig& config) {
  ExamplePlan plan;
  plan.peers = config.peers;
  read_sampling(config.sampling, plan.sampling);
  bool looks = plan.sampling.rule != SamplingPlan::Rule::uniform;
  refuse_modifiers(kRetire, config.retire);
  if (config.retire.name != "off") plan.retire = read_retire(config.retire);
  if (config.retire.name == "off") reject_unknown(kRetire, config.retire, {}, 0);
  refuse_modifiers(kQuarantine, config.quarantine);
  if (config.quarantine.name != "off") plan.quarantine = read_quarantine(config.quarantine);
  if (config.quarantine.name == "off") reject_unknown(kQuarantine, config.quarantine, {}, 0);
  plan.looks = looks || plan.retire || plan.quarantine;
  if (const Spec* hard = part_of(config.share, "hard")) plan.passing = read_hard(config, *hard);
  plan.logs = config.log_examples;
  if (plan.logs && !plan.passing)
    throw UsageError("--log-examples: no examples change hands here; add --share hard:32");
  if (!plan.looks && !plan.passing) return nullptr;
  refuse_without_models(config);
  std::uint32_t every = 0;  // where several say how often, the most often
  for (const auto& [option, spec] :
       {std::pair{kSampling, &config.sampling}, std::pair{kRetire, &config.retire},
        std::pair{kQuarantine, &config.quarantine}}) {
    std::uint32_t epochs = 0;
    read_count(option, *spec, "every", 1, 1000, epochs);
    if (epochs > 0 && (every == 0 || epochs < every)) every = epochs;
  }
  if (every > 0) plan.every = every;
  return std::make_shared<const ExamplePlan>(plan);
}

void refuse_on_gpu(const ExamplePlan* plan, bool on_gpu) {
  if (plan == nullptr || !on_gpu) return;
  throw UsageError(
      "--sampling, --retire, --quarantine, --share hard: peers keep ledgers of their examples on "
      "the CPU only; add --device cpu");
}

}  // namespace hearsay::runtime
