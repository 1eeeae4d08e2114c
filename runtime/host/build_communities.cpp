// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/build_communities.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "kernels/core/errc.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/config/protocol_kinds.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;

const std::string kShare = "--share", kCluster = "--cluster", kOff = "off";
constexpr std::uint64_t kLeastValues = 1024, kMostValues = 65'536;

void refuse_modifiers(const std::string& option, const Spec& spec) {
  if (!spec.modifiers.empty())
    throw UsageError(option + " " + spec.text + ": no '+' modifiers here");
}

// sketch:1024,memory=0.97
void read_sketch(const Spec& spec, gossip::CommunityPlan& plan) {
  reject_unknown(kShare, spec, {"memory"}, 1);
  if (!spec.values.empty()) {
    const std::uint64_t values = parse_count(kShare, spec.values.front());
    if (values < kLeastValues || values > kMostValues || !std::has_single_bit(values)) {
      throw UsageError(kShare + " sketch: a power of two from " + std::to_string(kLeastValues) +
                       " to " + std::to_string(kMostValues) + ", not " + spec.values.front());
    }
    plan.sketch.buckets = static_cast<std::uint32_t>(values);
  }
  if (const auto memory = spec.arg("memory")) plan.memory = parse_share(kShare, *memory);
}

clustering::Linkage linkage_of(const Spec& spec) {
  const std::string name = spec.values.empty() ? "average" : spec.values.front();
  if (name == "average") return clustering::Linkage::average;
  if (name == "single") return clustering::Linkage::single;
  if (name == "complete") return clustering::Linkage::complete;
  if (name == "ward") return clustering::Linkage::ward;
  throw_unknown("linkage", name, {"average", "single", "complete", "ward"});
}

void read_cut(const std::string& text, clustering::Recipe& recipe) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  const bool wants_value = name == "count" || name == "height";
  if (wants_value != (equals != std::string::npos)) {
    throw UsageError(kCluster + " cut=" + text +
                     ": write cut=silhouette, cut=gap, cut=count=2 or " + "cut=height=0.5");
  }
  if (name == "silhouette") {
    recipe.cut = clustering::CutRule::calibrated;
  } else if (name == "gap") {
    recipe.cut = clustering::CutRule::gap;
  } else if (name == "count") {
    recipe.cut = clustering::CutRule::count;
    const std::uint64_t count = parse_count(kCluster, value);
    if (count < 1 || count > clustering::kMostPeers)
      throw UsageError(kCluster + " cut=" + text + ": 1 to 1024 communities");
    recipe.count = static_cast<std::uint32_t>(count);
  } else if (name == "height") {
    recipe.cut = clustering::CutRule::height;
    recipe.height = parse_number(kCluster, value);
    if (!(recipe.height >= 0.0)) throw UsageError(kCluster + " cut=" + text + ": 0 or more");
  } else {
    throw_unknown("cut", name, {"silhouette", "gap", "count", "height"});
  }
}

// What `agglo` and `given` have in common.
void read_mixing(const Spec& spec, gossip::CommunityPlan& plan) {
  if (const auto outside = spec.arg("e")) plan.outside = parse_share(kCluster, *outside);
  const std::string name = spec.arg("schedule").value_or("never");
  if (name == "early") {
    plan.mixing = clustering::Mixing::early;
  } else if (name == "warm-up") {
    plan.mixing = clustering::Mixing::warm_up;
  } else if (name == "never") {
    plan.mixing = clustering::Mixing::never;
  } else {
    throw_unknown("schedule", name, {"early", "warm-up", "never"});
  }
}

void read_agglo(const RunConfig& config, gossip::CommunityPlan& plan) {
  const Spec& spec = config.cluster;
  reject_unknown(kCluster, spec, {"every", "e", "schedule", "cut", "soft"}, 1);
  if (const auto text = spec.arg("soft")) {
    if (spec.arg("e"))
      throw UsageError(kCluster +
                       " e: is a share outside the community, and soft has no use for it; "
                       "leave one of them out");
    const double temperature = parse_number(kCluster, *text);
    if (!(temperature >= 0.001 && temperature <= 100.0))
      throw UsageError(kCluster + " soft=" + *text + ": a temperature from 0.001 to 100");
    plan.temperature = temperature;
  }
  plan.recipe.metric = clustering::Metric::cosine;
  plan.recipe.linkage = linkage_of(spec);
  plan.recipe.seed = config.seed;
  if (const auto cut = spec.arg("cut")) read_cut(*cut, plan.recipe);
  if (const auto every = spec.arg("every")) {
    const std::uint64_t merges = parse_count(kCluster, *every);
    if (merges < 1 || merges > 1'000'000)
      throw UsageError(kCluster + " every=" + *every + ": 1 to 1,000,000 merges");
    plan.every = static_cast<std::uint32_t>(merges);
  }
  if (const Spec* sketch = part_of(config.share, "sketch")) read_sketch(*sketch, plan);
  plan.sketch.seed = kernels::Rng::stream(config.seed, "sketch").next_u64();
}

// given:groups=2
void read_given(const RunConfig& config, gossip::CommunityPlan& plan) {
  const Spec& spec = config.cluster;
  reject_unknown(kCluster, spec, {"groups", "e", "schedule"}, 0);
  const auto text = spec.arg("groups");
  if (!text) throw UsageError(kCluster + " given: how many groups? such as given:groups=2");
  const std::uint64_t groups = parse_count(kCluster, *text);
  if (groups == 0 || groups > config.peers || config.peers % groups != 0) {
    throw UsageError(kCluster + " given: " + std::to_string(config.peers) + " peers cannot form " +
                     *text + " equal groups");
  }
  const auto size = static_cast<std::uint32_t>(config.peers / groups);
  for (std::uint32_t peer = 0; peer < config.peers; ++peer) plan.given.push_back(peer / size);
}

// off, or parts of which each may come once.
void check_share(const Spec& share) {
  std::vector<std::string> names{share.name};
  for (const Spec& part : share.modifiers) names.push_back(part.name);
  if (share.name == kOff) {
    refuse_modifiers(kShare, share);
    return reject_unknown(kShare, share, {}, 0);
  }
  for (const std::string& name : names) {
    if (name != "sketch" && name != "hard") throw_unknown("share", name, {kOff, "sketch", "hard"});
    if (std::count(names.begin(), names.end(), name) > 1)
      throw UsageError(kShare + " " + share.text + ": " + name + " comes twice");
  }
}

void refuse_without_effect(const RunConfig& config) {
  const bool shares = part_of(config.share, "sketch") != nullptr;
  const std::string given = kShare + " " + config.share.text;
  if (shares && config.cluster.name == kOff)
    throw UsageError(given + ": nobody would look at sketches; add --cluster agglo");
  if (shares && config.cluster.name == "given")
    throw UsageError(given + ": has no effect where communities are given; leave it out");
  const std::string& protocol = config.protocol.name;
  if (config.cluster.name != kOff && (is_baseline(protocol) || protocol == "choco")) {
    throw UsageError(kCluster + ": has no effect on --protocol " + protocol + "; leave it out");
  }
}

}  // namespace

std::shared_ptr<const gossip::CommunityPlan> build_communities(const RunConfig& config) {
  const Spec& spec = config.cluster;
  refuse_modifiers(kCluster, spec);
  check_share(config.share);
  refuse_without_effect(config);
  if (spec.name == kOff) {
    reject_unknown(kCluster, spec, {}, 0);
    return nullptr;
  }
  if (config.peers > clustering::kMostPeers) {
    throw UsageError(kCluster + " " + spec.text + ": in pools of up to " +
                     std::to_string(clustering::kMostPeers) + " peers");
  }
  auto plan = std::make_shared<gossip::CommunityPlan>();
  read_mixing(spec, *plan);
  if (spec.name == "agglo") {
    read_agglo(config, *plan);
  } else if (spec.name == "given") {
    read_given(config, *plan);
  } else {
    throw_unknown("cluster", spec.name, {kOff, "agglo", "given"});
  }
  return plan;
}

}  // namespace hearsay::runtime
