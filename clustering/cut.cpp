// SPDX-License-Identifier: Apache-2.0
#include "clustering/cut.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "clustering/silhouette.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::clustering {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::size_t kGapMerges = 16;

// The first `made` merges. From the top down, every part takes the number of the part it went into.
Partition after_merges(const Tree& tree, std::size_t made) {
  std::vector<std::uint32_t> whole(tree.peers + made);
  std::iota(whole.begin(), whole.end(), 0u);
  for (std::size_t i = made; i-- > 0;) {
    const std::uint32_t number = whole[tree.peers + i];
    whole[tree.merges[i].a] = whole[tree.merges[i].b] = number;
  }
  return numbered(std::span(whole).first(tree.peers));
}

// Which group each fine part belongs to; small groups have joined the nearest large one.
struct Grouping {
  std::vector<std::uint32_t> groups;  // [fine part]
  std::uint32_t large = 0;            // groups of the least size or more
};

class Levels {
 public:
  Levels(const PartSums& sums, std::uint32_t least_size) : sums_(sums), least_size_(least_size) {}

  Grouping grouping(const Partition& coarse) const {
    Grouping out;
    std::vector<std::uint32_t> labels(sums_.sizes.size());
    for (std::size_t i = 0; i < sums_.part.size(); ++i) {
      if (sums_.part[i] != kNoPart) labels[sums_.part[i]] = coarse.labels[i];
    }
    out.groups = numbered(labels).labels;
    const std::vector<std::uint32_t> sizes = group_sizes(out.groups);
    std::vector<std::uint32_t> homes(sizes.size());
    for (std::uint32_t g = 0; g < sizes.size(); ++g) {
      homes[g] = sizes[g] < least_size_ ? nearest_large(g, out.groups, sizes) : g;
      if (sizes[g] >= least_size_) ++out.large;
    }
    for (std::uint32_t& group : out.groups) group = homes[group];
    out.groups = numbered(out.groups).labels;
    return out;
  }

 private:
  std::vector<std::uint32_t> group_sizes(std::span<const std::uint32_t> groups) const {
    std::vector<std::uint32_t> sizes(
        groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end()) + 1);
    for (std::size_t p = 0; p < groups.size(); ++p) sizes[groups[p]] += sums_.sizes[p];
    return sizes;
  }

  // By mean distance; the group itself when there is none at a finite one.
  std::uint32_t nearest_large(std::uint32_t group, std::span<const std::uint32_t> groups,
                              std::span<const std::uint32_t> sizes) const {
    const std::size_t parts = groups.size();
    std::vector<double> totals(sizes.size());
    for (std::size_t i = 0; i < sums_.part.size(); ++i) {
      if (sums_.part[i] == kNoPart || groups[sums_.part[i]] != group) continue;
      for (std::size_t p = 0; p < parts; ++p) totals[groups[p]] += sums_.sums[i * parts + p];
    }
    std::uint32_t best = group;
    double least = kInf;
    for (std::uint32_t g = 0; g < sizes.size(); ++g) {
      if (sizes[g] < least_size_ || totals[g] / sizes[g] >= least) continue;
      best = g;
      least = totals[g] / sizes[g];
    }
    return best;
  }

  const PartSums& sums_;
  std::uint32_t least_size_;
};

// Groups of fine parts as a partition of all peers; isolated ones stay alone.
Partition spread(const PartSums& sums, std::span<const std::uint32_t> groups) {
  std::vector<std::uint32_t> labels(sums.part.size());
  std::uint32_t alone = static_cast<std::uint32_t>(groups.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = sums.part[i] == kNoPart ? alone++ : groups[sums.part[i]];
  }
  return numbered(labels);
}

}  // namespace

Partition cut_at_height(const Tree& tree, double height) {
  const auto first = std::find_if(tree.merges.begin(), tree.merges.end(),
                                  [&](const Merge& merge) { return !(merge.height <= height); });
  const auto made = static_cast<std::size_t>(first - tree.merges.begin());
  return after_merges(tree, std::min(made, tree.finite_merges()));
}

Partition cut_to_count(const Tree& tree, std::uint32_t count) {
  HS_CHECK(count >= 1);
  const std::size_t finite = tree.finite_merges();
  return after_merges(tree, finite - std::min<std::size_t>(finite, count - 1));
}

Partition cut_at_gap(const Tree& tree, double least_ratio) {
  const std::size_t finite = tree.finite_merges();
  const std::size_t first = finite - std::min(finite, kGapMerges);
  std::size_t made = finite;
  double best = 0.0;
  for (std::size_t i = first + 1; i < finite; ++i) {
    const double low = tree.merges[i - 1].height, high = tree.merges[i].height;
    const double ratio = high > low ? high / low : 1.0;  // +inf above equal models
    if (ratio < least_ratio || ratio < best) continue;   // of equal ones the highest: fewer parts
    best = ratio;
    made = i;
  }
  return after_merges(tree, made);
}

Split best_split(const Tree& tree, const Distances& distances, const SilhouetteRule& rule) {
  HS_CHECK(tree.peers == distances.size());
  const std::size_t finite = tree.finite_merges();
  // Small parts are no communities, so it takes more parts than communities to find those.
  const std::size_t levels = std::min<std::size_t>(2 * std::size_t{rule.most}, finite);
  const PartSums sums = part_sums(distances, after_merges(tree, finite - levels));
  const auto known = std::accumulate(sums.sizes.begin(), sums.sizes.end(), 0u);
  const std::uint32_t most = std::min(rule.most, known / 2);
  const Levels fine(sums, rule.least_size);
  std::optional<double> best;
  Split out{after_merges(tree, finite), 0.0};
  for (std::size_t cut = 0; cut <= levels; ++cut) {
    const Grouping grouping = fine.grouping(after_merges(tree, finite - cut));
    if (grouping.large < 2 || grouping.large > most) continue;
    const std::uint32_t count =
        *std::max_element(grouping.groups.begin(), grouping.groups.end()) + 1;
    const double value = silhouette(sums, grouping.groups, count);
    if (best && value <= *best) continue;
    best = value;
    out = {spread(sums, grouping.groups), value};
  }
  return out;
}

Split cut_by_silhouette(const Tree& tree, const Distances& distances, const SilhouetteRule& rule) {
  Split split = best_split(tree, distances, rule);
  if (!(split.silhouette >= rule.least)) {
    split.partition = after_merges(tree, tree.finite_merges());
  }
  return split;
}

}  // namespace hearsay::clustering
