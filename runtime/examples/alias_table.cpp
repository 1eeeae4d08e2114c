// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/alias_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/core/check.hpp"

namespace hearsay::runtime {

AliasTable::AliasTable(std::span<const double> weights)
    : keep_(weights.begin(), weights.end()), alias_(weights.size()) {
  const double sum = std::accumulate(keep_.begin(), keep_.end(), 0.0);
  HS_CHECK(std::isfinite(sum) && sum > 0.0);
  const auto n = static_cast<double>(keep_.size());
  std::iota(alias_.begin(), alias_.end(), 0u);
  std::vector<std::uint32_t> small, large;
  for (std::uint32_t i = 0; i < keep_.size(); ++i) {
    HS_CHECK(keep_[i] >= 0.0);
    keep_[i] *= n / sum;
    (keep_[i] < 1.0 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t poor = small.back(), rich = large.back();
    small.pop_back();
    alias_[poor] = rich;
    keep_[rich] -= 1.0 - keep_[poor];
    if (keep_[rich] >= 1.0) continue;
    large.pop_back();
    small.push_back(rich);
  }
  for (const std::uint32_t left : large) keep_[left] = 1.0;  // by rounding alone
  for (const std::uint32_t left : small) {
    // Of nothing, rounding makes no share.
    if (weights[left] > 0.0) keep_[left] = 1.0;
    if (weights[left] == 0.0 && alias_[left] == left) {
      alias_[left] = static_cast<std::uint32_t>(std::max_element(weights.begin(), weights.end()) -
                                                weights.begin());
    }
  }
}

std::uint32_t AliasTable::draw(kernels::Rng& rng) const {
  const std::uint32_t index = rng.below(static_cast<std::uint32_t>(keep_.size()));
  return rng.uniform() < keep_[index] ? index : alias_[index];
}

}  // namespace hearsay::runtime
