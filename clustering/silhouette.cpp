// SPDX-License-Identifier: Apache-2.0
#include "clustering/silhouette.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "kernels/core/check.hpp"

namespace hearsay::clustering {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// (b - a) / max(a, b), defined for 0 and +inf too.
double contrast(double a, double b) {
  if (a < b) return 1.0 - a / b;
  return a > b ? b / a - 1.0 : 0.0;
}

}  // namespace

PartSums part_sums(const Distances& distances, const Partition& partition) {
  const std::size_t peers = distances.size();
  HS_CHECK(partition.labels.size() == peers);
  PartSums out;
  std::vector<std::uint32_t> numbers(partition.count, kNoPart);  // parts with peers that count
  for (std::size_t i = 0; i < peers; ++i) {
    out.part.push_back(kNoPart);
    if (distances.isolated(i)) continue;
    std::uint32_t& number = numbers[partition.labels[i]];
    if (number == kNoPart) {
      number = static_cast<std::uint32_t>(out.sizes.size());
      out.sizes.push_back(0);
    }
    out.part[i] = number;
    ++out.sizes[number];
  }
  const std::size_t parts = out.sizes.size();
  out.sums.resize(peers * parts);
  for (std::size_t i = 0; i < peers; ++i) {
    if (out.part[i] == kNoPart) continue;
    for (std::size_t j = i + 1; j < peers; ++j) {
      if (out.part[j] == kNoPart) continue;
      const double distance = distances(i, j);
      out.sums[i * parts + out.part[j]] += distance;
      out.sums[j * parts + out.part[i]] += distance;
    }
  }
  return out;
}

double silhouette(const PartSums& sums, std::span<const std::uint32_t> groups,
                  std::uint32_t count) {
  const std::size_t parts = sums.sizes.size();
  HS_CHECK(groups.size() == parts);
  if (count < 2) return 0.0;
  std::vector<std::uint32_t> sizes(count);
  for (std::size_t p = 0; p < parts; ++p) sizes[groups[p]] += sums.sizes[p];
  std::vector<double> totals(count);
  double sum = 0.0;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < sums.part.size(); ++i) {
    if (sums.part[i] == kNoPart) continue;
    ++counted;
    const std::uint32_t own = groups[sums.part[i]];
    if (sizes[own] < 2) continue;
    std::fill(totals.begin(), totals.end(), 0.0);
    for (std::size_t p = 0; p < parts; ++p) totals[groups[p]] += sums.sums[i * parts + p];
    double nearest = kInf;
    for (std::uint32_t g = 0; g < count; ++g) {
      if (g != own && sizes[g] > 0) nearest = std::min(nearest, totals[g] / sizes[g]);
    }
    sum += contrast(totals[own] / (sizes[own] - 1), nearest);
  }
  return counted == 0 ? 0.0 : sum / static_cast<double>(counted);
}

double silhouette(const Distances& distances, const Partition& partition) {
  const PartSums sums = part_sums(distances, partition);
  std::vector<std::uint32_t> groups(sums.sizes.size());
  std::iota(groups.begin(), groups.end(), 0u);
  return silhouette(sums, groups, static_cast<std::uint32_t>(groups.size()));
}

}  // namespace hearsay::clustering
