// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/core/errc.hpp"
#include "kernels/ops/merge_ops.hpp"
#include "kernels/ops/optimizer_ops.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::string_view kFlag = "--optimizer";

double number_or(const Spec& spec, std::string_view key, double fallback, double least,
                 double below) {
  const auto text = spec.arg(key);
  if (!text) return fallback;
  const double value = parse_number(kFlag, *text);
  if (!(value >= least && value < below)) {
    throw kernels::UsageError(std::string(kFlag) + ": " + std::string(key) + "=" + *text +
                              " is out of range");
  }
  return value;
}

}  // namespace

OptimizerOptions parse_optimizer(const Spec& spec) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  OptimizerOptions o;
  if (spec.name == "sgd") {
    reject_unknown(kFlag, spec, {"lr", "momentum", "clip"}, 0);
    o.momentum = number_or(spec, "momentum", 0.9, 0.0, 1.0);
    o.lr = number_or(spec, "lr", 0.05, 0.0, kAny);
  } else if (spec.name == "adamw") {
    reject_unknown(kFlag, spec, {"lr", "beta1", "beta2", "eps", "decay", "clip"}, 0);
    o.kind = OptimizerOptions::Kind::adamw;
    o.lr = number_or(spec, "lr", 1e-3, 0.0, kAny);
    o.beta1 = number_or(spec, "beta1", 0.9, 0.0, 1.0);
    o.beta2 = number_or(spec, "beta2", 0.999, 0.0, 1.0);
    o.epsilon = number_or(spec, "eps", 1e-8, 0.0, kAny);
    o.weight_decay = number_or(spec, "decay", 0.01, 0.0, kAny);
  } else {
    throw_unknown("optimizer", spec.name, {"sgd", "adamw"});
  }
  o.clip = number_or(spec, "clip", 0.0, 0.0, kAny);
  return o;
}

Optimizer::Optimizer(const OptimizerOptions& options, std::size_t size)
    : options_(options),
      first_(size),
      second_(options.kind == OptimizerOptions::Kind::adamw ? size : 0) {}

void Optimizer::reset() {
  for (kernels::Buffer<float>* moment : {&first_, &second_})
    std::fill_n(moment->data(), moment->size(), 0.0f);
  updates_ = 0;
}

std::vector<std::pair<std::string_view, std::span<float>>> Optimizer::moments() {
  if (options_.kind == OptimizerOptions::Kind::sgd) return {{"momentum", first_.span()}};
  return {{"first", first_.span()}, {"second", second_.span()}};
}

void Optimizer::apply(std::span<float> weights, std::span<const float> gradient, double scale,
                      double factor) {
  if (options_.clip > 0.0) {
    const double norm = scale * std::sqrt(kernels::squared_distance(gradient, {}));
    if (norm > options_.clip) scale *= options_.clip / norm;
  }
  const double lr = options_.lr * factor;
  ++updates_;
  if (options_.kind == OptimizerOptions::Kind::sgd) {
    kernels::sgd_momentum(static_cast<float>(lr), static_cast<float>(options_.momentum),
                          static_cast<float>(scale), weights, first_.span(), gradient);
    return;
  }
  const auto correction = [&](double beta) {
    return static_cast<float>(1.0 - std::pow(beta, static_cast<double>(updates_)));
  };
  const kernels::AdamW step{static_cast<float>(lr),
                            static_cast<float>(options_.beta1),
                            static_cast<float>(options_.beta2),
                            static_cast<float>(options_.epsilon),
                            static_cast<float>(options_.weight_decay),
                            correction(options_.beta1),
                            correction(options_.beta2)};
  kernels::adamw(step, static_cast<float>(scale), weights, first_.span(), second_.span(), gradient);
}

}  // namespace hearsay::runtime
