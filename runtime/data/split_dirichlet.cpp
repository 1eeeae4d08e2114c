// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/core/errc.hpp"
#include "runtime/data/partition.hpp"
#include "runtime/data/split.hpp"

namespace hearsay::runtime {
namespace {

// One draw of Dir(beta, ..., beta). In logarithms, by Gamma(b) = Gamma(b + 1) * U^(1/b): a small
// beta makes draws that a double cannot hold, and their sum must not become 0.
std::vector<double> draw_shares(std::uint32_t peers, double beta, kernels::Rng& rng) {
  std::vector<double> shares(peers);
  for (double& share : shares) {
    const double boosted = rng.gamma(beta + 1.0);
    share = std::log(boosted) + std::log(1.0 - rng.uniform()) / beta;
  }
  const double largest = *std::ranges::max_element(shares);
  double sum = 0.0;
  for (double& share : shares) sum += share = std::exp(share - largest);
  for (double& share : shares) share /= sum;
  return shares;
}

// Shares to cuts of `count` examples: cuts[k] .. cuts[k + 1] is peer k's run.
std::vector<std::size_t> draw_cuts(std::size_t count, std::uint32_t peers, double beta,
                                   kernels::Rng& rng) {
  const auto shares = draw_shares(peers, beta, rng);
  std::vector<std::size_t> cuts{0};
  double sum = 0.0;
  for (const double share : shares) {
    sum += share;
    cuts.push_back(std::min(count, static_cast<std::size_t>(sum * static_cast<double>(count))));
  }
  cuts.back() = count;  // the sum of the shares is 1 only up to rounding
  return cuts;
}

bool every_shard_is_large_enough(const std::vector<std::vector<std::size_t>>& cuts,
                                 std::uint32_t peers) {
  for (std::uint32_t p = 0; p < peers; ++p) {
    std::size_t size = 0;
    for (const auto& of_class : cuts) size += of_class[p + 1] - of_class[p];
    if (size < kMinShardExamples) return false;
  }
  return true;
}

}  // namespace

std::vector<Indices> split_dirichlet(std::vector<Indices> by_class, std::uint32_t peers,
                                     double beta, kernels::Rng& rng) {
  for (auto& indices : by_class) rng.shuffle(indices);
  for (int draw = 0; draw <= kMaxRedraws; ++draw) {
    std::vector<std::vector<std::size_t>> cuts;
    for (const auto& indices : by_class) {
      cuts.push_back(draw_cuts(indices.size(), peers, beta, rng));
    }
    if (!every_shard_is_large_enough(cuts, peers)) continue;
    std::vector<Indices> shards(peers);
    for (std::size_t c = 0; c < by_class.size(); ++c) {
      for (std::uint32_t p = 0; p < peers; ++p) {
        const auto begin = by_class[c].begin();
        shards[p].insert(shards[p].end(), begin + static_cast<std::ptrdiff_t>(cuts[c][p]),
                         begin + static_cast<std::ptrdiff_t>(cuts[c][p + 1]));
      }
    }
    return shards;
  }
  throw kernels::UsageError(
      "--split dirichlet: after " + std::to_string(kMaxRedraws) + " redraws some of the " +
      std::to_string(peers) + " shards still hold fewer than " + std::to_string(kMinShardExamples) +
      " examples; try a larger value than " + std::to_string(beta) + ", or fewer --peers");
}

}  // namespace hearsay::runtime
