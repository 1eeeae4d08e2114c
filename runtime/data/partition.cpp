// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/partition.hpp"

#include <algorithm>
#include <limits>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/config/spec.hpp"
#include "runtime/data/split.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;

constexpr const char* kOption = "--split";
constexpr std::uint64_t kMaxWord = std::numeric_limits<std::uint32_t>::max();
const std::vector<std::string> kSplits{"iid", "dirichlet", "labels"};
const std::vector<std::string> kModifiers{"rotate", "noise"};

std::string prefix(const Spec& spec) { return std::string(kOption) + " " + spec.text + ": "; }

// The one value of `name:value` or `name:key=value`.
std::string only_value(const Spec& spec, const std::string& key) {
  reject_unknown(kOption, spec, {key}, 1);
  const auto named = spec.arg(key);
  if (spec.values.size() + (named ? 1 : 0) != 1) {
    throw UsageError(prefix(spec) + "needs one value, as in " + spec.name + ":" + key);
  }
  return named ? *named : spec.values[0];
}

double dirichlet_beta(const Spec& spec) {
  const double beta = parse_number(kOption, only_value(spec, "beta"));
  if (!(beta >= 1e-4 && beta <= 1e6)) {
    throw UsageError(prefix(spec) +
                     "the concentration must lie between 0.0001 and 1000000; try dirichlet:0.3");
  }
  return beta;
}

std::uint32_t rotate_arg(const Spec& modifier, const char* key) {
  const auto text = modifier.arg(key);
  const std::string example = "; try rotate:groups=2,by=5";
  if (!text) throw UsageError(prefix(modifier) + key + " is missing" + example);
  const std::uint64_t value = parse_count(kOption, *text);
  if (value > kMaxWord) throw UsageError(prefix(modifier) + key + " is too large" + example);
  return static_cast<std::uint32_t>(value);
}

void apply_rotate(const Spec& modifier, std::uint32_t peers, std::uint32_t classes,
                  Partition& partition) {
  reject_unknown(kOption, modifier, {"groups", "by"}, 0);
  const std::uint32_t groups = rotate_arg(modifier, "groups"), by = rotate_arg(modifier, "by");
  if (groups == 0) {
    throw UsageError(prefix(modifier) + "at least one group; try rotate:groups=2,by=5");
  }
  if (peers % groups != 0) {
    throw UsageError(prefix(modifier) + std::to_string(peers) + " peers cannot form " +
                     std::to_string(groups) + " equal groups; try --peers " +
                     std::to_string(std::uint64_t{groups} * (peers / groups + 1)));
  }
  partition.rotate_by = by % classes;
  for (std::uint32_t p = 0; p < peers; ++p) partition.group[p] = p / (peers / groups);
}

void apply_noise(const Spec& modifier, std::uint32_t classes, Partition& partition) {
  partition.noise_share = parse_share(kOption, only_value(modifier, "share"));
  if (!(partition.noise_share >= 0.0 && partition.noise_share <= 1.0)) {
    throw UsageError(prefix(modifier) + "the share must lie between 0% and 100%; try noise:10%");
  }
  if (classes < 2) throw UsageError(prefix(modifier) + "one class has no wrong labels");
}

void apply_modifiers(const Spec& spec, std::uint32_t peers, std::uint32_t classes,
                     Partition& partition) {
  std::vector<std::string> seen;
  for (const Spec& modifier : spec.modifiers) {
    if (std::ranges::find(seen, modifier.name) != seen.end()) {
      throw UsageError(prefix(spec) + "+" + modifier.name + " is given twice");
    }
    seen.push_back(modifier.name);
    if (modifier.name == "rotate") {
      apply_rotate(modifier, peers, classes, partition);
    } else if (modifier.name == "noise") {
      apply_noise(modifier, classes, partition);
    } else {
      throw_unknown("split modifier", modifier.name, kModifiers);
    }
  }
}

std::vector<Indices> indices_by_class(std::span<const std::uint8_t> labels, std::uint32_t classes) {
  std::vector<Indices> by_class(classes);
  for (std::uint32_t i = 0; i < labels.size(); ++i) {
    HS_CHECK(labels[i] < classes);
    by_class[labels[i]].push_back(i);
  }
  return by_class;
}

std::vector<Indices> deal(const Spec& spec, std::span<const std::uint8_t> labels,
                          std::uint32_t classes, std::uint32_t peers, std::uint64_t seed) {
  auto rng = kernels::Rng::stream(seed, "split");
  if (spec.name == "iid") {
    reject_unknown(kOption, spec, {}, 0);
    return split_iid(labels.size(), peers, rng);
  }
  if (spec.name == "dirichlet") {
    return split_dirichlet(indices_by_class(labels, classes), peers, dirichlet_beta(spec), rng);
  }
  if (spec.name == "labels") {
    const std::uint64_t k = parse_count(kOption, only_value(spec, "k"));
    return split_labels(indices_by_class(labels, classes), peers, k, rng);
  }
  throw_unknown("split", spec.name, kSplits);
}

void check_pool(const Spec& spec, std::size_t examples, std::uint32_t peers) {
  if (peers == 0) throw UsageError("--peers 0: a pool needs at least one peer");
  if (peers > examples) {
    throw UsageError(prefix(spec) + std::to_string(peers) + " peers, but only " +
                     std::to_string(examples) +
                     " training examples; try fewer --peers or a larger --data set");
  }
  if (examples / peers < kMinShardExamples) {
    throw UsageError(prefix(spec) + std::to_string(examples) + " training examples for " +
                     std::to_string(peers) + " peers leave a shard with fewer than " +
                     std::to_string(kMinShardExamples) + "; try --peers " +
                     std::to_string(std::max<std::size_t>(examples / kMinShardExamples, 1)) +
                     " or fewer");
  }
}

void check_shards(const Spec& spec, const std::vector<Indices>& owned) {
  for (std::size_t p = 0; p < owned.size(); ++p) {
    if (owned[p].size() >= kMinShardExamples) continue;
    throw UsageError(prefix(spec) + "peer " + std::to_string(p) + " would hold " +
                     std::to_string(owned[p].size()) + " examples, the least is " +
                     std::to_string(kMinShardExamples) + "; try fewer --peers");
  }
}

}  // namespace

Partition make_partition(const std::string& text, std::span<const std::uint8_t> labels,
                         std::uint32_t classes, std::uint32_t peers, std::uint64_t seed) {
  HS_CHECK(classes >= 1 && labels.size() <= kMaxWord);
  const Spec spec = parse_spec(kOption, text);
  if (std::ranges::find(kSplits, spec.name) == kSplits.end()) {
    throw_unknown("split", spec.name, kSplits);
  }
  check_pool(spec, labels.size(), peers);
  Partition partition;
  partition.spec = text;
  partition.group.assign(peers, 0);
  apply_modifiers(spec, peers, classes, partition);
  partition.owned = deal(spec, labels, classes, peers, seed);
  for (Indices& indices : partition.owned) std::ranges::sort(indices);
  check_shards(spec, partition.owned);
  return partition;
}

std::string describe_variant(const std::string& text) {
  const Spec spec = parse_spec(kOption, text);
  std::string line;
  if (spec.name == "iid") {
    line = "examples shuffled, shard sizes differ by at most 1";
  } else if (spec.name == "dirichlet") {
    line = "NIID-Bench: Dirichlet shares of each class, shard sizes as they fall";
  } else if (spec.name == "labels") {
    line = "every peer holds exactly k labels, a class divided evenly among its holders";
  } else {
    throw_unknown("split", spec.name, kSplits);
  }
  for (const Spec& modifier : spec.modifiers) line += " + " + modifier.name;
  return line;
}

}  // namespace hearsay::runtime
