// SPDX-License-Identifier: Apache-2.0
#include "clustering/partition.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::clustering {
namespace {

double pairs_among(double n) { return 0.5 * n * (n - 1.0); }

// Peers in both part x of one partition and part y of the other; only those that have any.
std::vector<std::uint32_t> overlaps(const Partition& a, const Partition& b) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cells;
  for (std::size_t i = 0; i < a.labels.size(); ++i) cells.emplace_back(a.labels[i], b.labels[i]);
  std::sort(cells.begin(), cells.end());
  std::vector<std::uint32_t> counts;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i == 0 || cells[i] != cells[i - 1]) counts.push_back(0);
    ++counts.back();
  }
  return counts;
}

double sum_of_pairs(std::span<const std::uint32_t> counts) {
  double sum = 0.0;
  for (const std::uint32_t count : counts) sum += pairs_among(count);
  return sum;
}

double entropy(std::span<const std::uint32_t> counts, double n) {
  double sum = 0.0;
  for (const std::uint32_t count : counts) sum -= count / n * std::log(count / n);
  return sum;
}

}  // namespace

Partition numbered(std::span<const std::uint32_t> labels) {
  Partition out;
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (const std::uint32_t label : labels) {
    const auto [at, is_new] = numbers.emplace(label, out.count);
    if (is_new) ++out.count;
    out.labels.push_back(at->second);
  }
  return out;
}

std::vector<std::uint32_t> part_sizes(const Partition& partition) {
  std::vector<std::uint32_t> sizes(partition.count);
  for (const std::uint32_t label : partition.labels) ++sizes[label];
  return sizes;
}

Agreement agreement(const Partition& a, const Partition& b) {
  HS_CHECK(a.labels.size() == b.labels.size());
  Agreement out;
  const double n = static_cast<double>(a.labels.size());
  if (n < 2) return out;
  const std::vector<std::uint32_t> cells = overlaps(a, b), rows = part_sizes(a),
                                   columns = part_sizes(b);
  const double both = sum_of_pairs(cells), in_a = sum_of_pairs(rows), in_b = sum_of_pairs(columns);
  const double all = pairs_among(n);
  out.rand = (all + 2.0 * both - in_a - in_b) / all;
  const double expected = in_a * in_b / all, most = 0.5 * (in_a + in_b);
  if (most != expected) out.adjusted_rand = (both - expected) / (most - expected);
  const double entropy_a = entropy(rows, n), entropy_b = entropy(columns, n);
  const double mean = 0.5 * (entropy_a + entropy_b);
  if (mean > 0.0) {
    const double mutual = entropy_a + entropy_b - entropy(cells, n);
    out.mutual_information = std::clamp(mutual / mean, 0.0, 1.0);
  }
  return out;
}

}  // namespace hearsay::clustering
