// SPDX-License-Identifier: Apache-2.0
#include "clustering/predictions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/core/check.hpp"

namespace hearsay::clustering {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double entropy_term(double p) { return p > 0.0 ? -p * std::log2(p) : 0.0; }

// Rows that add up to 1; empty when the table is no use.
std::vector<float> normalised(std::span<const float> table, std::size_t classes) {
  std::vector<float> rows;
  rows.reserve(table.size());
  for (std::size_t begin = 0; begin < table.size(); begin += classes) {
    double sum = 0.0;
    for (const float p : table.subspan(begin, classes)) {
      if (!std::isfinite(p) || p < 0.0f) return {};
      sum += static_cast<double>(p);
    }
    if (sum <= 0.0) return {};
    for (const float p : table.subspan(begin, classes)) {
      rows.push_back(static_cast<float>(static_cast<double>(p) / sum));
    }
  }
  return rows;
}

// Entropy of the mean of two tables, which is that of the table itself when both are the same.
double mean_entropy(std::span<const float> p, std::span<const float> q) {
  double sum = 0.0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    sum += entropy_term(0.5 * (static_cast<double>(p[k]) + static_cast<double>(q[k])));
  }
  return sum;
}

}  // namespace

Distances prediction_divergences(std::span<const std::span<const float>> tables,
                                 std::size_t classes) {
  HS_CHECK(classes > 0);
  Distances out(tables.size());
  std::vector<std::vector<float>> rows;
  std::vector<double> entropy;
  std::size_t values = 0;
  for (const std::span<const float> table : tables) {
    HS_CHECK(table.size() % classes == 0);
    rows.push_back(normalised(table, classes));
    entropy.push_back(mean_entropy(rows.back(), rows.back()));
    if (rows.back().empty()) continue;
    HS_CHECK(values == 0 || values == rows.back().size());
    values = rows.back().size();
  }
  const double scale =
      values == 0 ? 0.0 : static_cast<double>(classes) / static_cast<double>(values);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      double distance = kInf;
      if (!rows[i].empty() && !rows[j].empty()) {
        const double excess = mean_entropy(rows[i], rows[j]) - 0.5 * (entropy[i] + entropy[j]);
        distance = std::clamp(excess * scale, 0.0, 1.0);
      }
      out.set(i, j, distance);
    }
  }
  return out;
}

}  // namespace hearsay::clustering
