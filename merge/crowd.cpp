// SPDX-License-Identifier: Apache-2.0
#include "merge/crowd.hpp"

#include <algorithm>
#include <vector>

#include "kernels/core/check.hpp"
#include "kernels/ops/crowd_ops.hpp"
#include "kernels/ops/merge_ops.hpp"

namespace hearsay::merge {
namespace {

using Rows = std::vector<std::span<const float>>;

// Rows but the last, the own one: nobody needs to be told its own weights.
std::size_t krum_choice(const Rows& rows, std::size_t hostile) {
  const std::size_t n = rows.size(), neighbours = n > hostile + 2 ? n - hostile - 2 : 1;
  std::vector<std::vector<double>> distances(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      distances[i][j] = distances[j][i] = kernels::squared_distance(rows[i], rows[j]);
  std::size_t best = 0;
  double best_score = 0.0;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    auto& row = distances[i];
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
    std::sort(row.begin(), row.end());
    double score = 0.0;
    for (std::size_t j = 0; j < neighbours; ++j) score += row[j];
    if (i == 0 || score < best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

}  // namespace

void crowd_center(const CrowdRule& rule, std::span<const float> own,
                  std::span<const SnapshotRef> models, std::span<float> out) {
  HS_CHECK(!models.empty() && models.size() < kernels::kCrowdMost);
  Rows rows;
  for (const SnapshotRef& model : models) rows.push_back(model->span());
  rows.push_back(own);
  const std::size_t most = (rows.size() - 1) / 2;
  switch (rule.kind) {
    case CrowdRule::Kind::median: return kernels::coordinate_median(rows, out);
    case CrowdRule::Kind::trimmed_mean:
      return kernels::trimmed_mean(rows, std::min<std::size_t>(rule.hostile, most), out);
    case CrowdRule::Kind::krum: break;
  }
  const auto chosen = rows[krum_choice(rows, rule.hostile)];
  std::copy(chosen.begin(), chosen.end(), out.begin());
}

}  // namespace hearsay::merge
