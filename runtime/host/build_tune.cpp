// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/build_tune.hpp"

#include <string>

#include "kernels/core/errc.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;
const std::string kTune = "--tune";

double number_between(const Spec& spec, const char* key, double usual, double least, double most,
                      const char* bounds) {
  const auto text = spec.arg(key);
  if (!text) return usual;
  const double value = parse_number(kTune, *text);
  if (!(value >= least && value <= most))
    throw UsageError(kTune + " " + key + "=" + *text + ": " + bounds);
  return value;
}

}  // namespace

// population:lr,alpha,step=1.2,eager=200
std::optional<gossip::TunePlan> build_tune(const RunConfig& config) {
  const Spec& spec = config.tune;
  if (!spec.modifiers.empty())
    throw UsageError(kTune + " " + spec.text + ": no '+' modifiers here");
  if (spec.name == "off") {
    reject_unknown(kTune, spec, {}, 0);
    return std::nullopt;
  }
  if (spec.name != "population") throw_unknown("tune", spec.name, {"off", "population"});
  reject_unknown(kTune, spec, {"step", "eager"}, 2);
  gossip::TunePlan plan;
  for (const std::string& word : spec.values) {
    bool& learned = word == "lr"      ? plan.lr
                    : word == "alpha" ? plan.alpha
                                      : (throw_unknown("setting", word, {"lr", "alpha"}), plan.lr);
    if (learned) throw UsageError(kTune + " " + spec.text + ": " + word + " comes twice");
    learned = true;
  }
  if (spec.values.empty()) plan.lr = true;
  plan.step = number_between(spec, "step", plan.step, 1.01, 2.0, "a factor from 1.01 to 2");
  plan.eager = number_between(spec, "eager", plan.eager, 0.0, 1000.0, "0 to 1000");
  if (config.protocol.name != "pairwise")
    throw UsageError(kTune + " " + spec.text +
                     ": settings travel with the requests of --protocol pairwise");
  return plan;
}

}  // namespace hearsay::runtime
