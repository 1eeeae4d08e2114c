// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/passing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::runtime {
namespace {

using By = PassingPlan::By;

double novelty(const PassingChoice& from, std::size_t i) {
  return from.ledger.visitors[from.rows[i]].has(from.to, from.ledger.peers()) ? 0.5 : 1.0;
}

double loss(float confidence) { return -std::log(std::max(1e-6, static_cast<double>(confidence))); }

// What speaks for offering the i-th, for the rules that take the best.
double score(By by, const PassingChoice& from, std::size_t i) {
  const double unsure = 1.0 - from.confidence[i];
  if (by == By::sender || from.partner_confidence.empty()) return unsure * novelty(from, i);
  const float partner = from.partner_confidence[i];
  if (by == By::receiver) return (1.0 - partner) * novelty(from, i);
  return loss(partner) - loss(from.confidence[i]);
}

// Of rules that draw: the chance of the i-th, up to a factor.
double weight(const PassingPlan& plan, const PassingChoice& from, std::size_t i) {
  if (plan.by == By::random) return 1.0;
  if (plan.by == By::novel) return novelty(from, i) == 1.0 ? 1.0 : 0.01;
  const double gain = plan.sign * plan.gain * (1.0 - 2.0 * from.alike.value_or(0.5));
  return std::pow(1.05 - from.confidence[i], gain) * novelty(from, i);
}

// The `most` largest keys, larger ones first; of equals, the lower row.
std::vector<std::uint32_t> largest(std::vector<std::pair<double, std::uint32_t>> keys,
                                   std::size_t most) {
  most = std::min(most, keys.size());
  std::partial_sort(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(most), keys.end(),
                    [](const auto& a, const auto& b) {
                      return a.first != b.first ? a.first > b.first : a.second < b.second;
                    });
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < most; ++i) rows.push_back(keys[i].second);
  return rows;
}

// One of each class in turn, any of it.
std::vector<std::uint32_t> by_class(const PassingChoice& from, std::size_t most,
                                    kernels::Rng& rng) {
  std::vector<std::uint32_t> order(from.rows.begin(), from.rows.end());
  rng.shuffle(order);
  std::vector<std::vector<std::uint32_t>> classes(256);
  for (const std::uint32_t row : order) classes[from.labels[row]].push_back(row);
  std::vector<std::uint32_t> rows;
  for (bool any = true; any && rows.size() < most;) {
    any = false;
    for (std::vector<std::uint32_t>& left : classes) {
      if (left.empty() || rows.size() == most) continue;
      rows.push_back(left.back());
      left.pop_back();
      any = true;
    }
  }
  return rows;
}

}  // namespace

std::string name_of(By by) {
  switch (by) {
    case By::sender: return "sender";
    case By::receiver: return "receiver";
    case By::random: return "random";
    case By::classes: return "classes";
    case By::novel: return "novel";
    case By::signed_: return "signed";
    case By::rho: break;
  }
  return "rho";
}

// Draws without replacement in proportion to weights by the keys log(u) / w (Efraimidis and
// Spirakis 2006).
std::vector<std::uint32_t> choose_rows(const PassingPlan& plan, const PassingChoice& from,
                                       std::size_t most, kernels::Rng& rng) {
  HS_CHECK(from.confidence.size() == from.rows.size());
  HS_CHECK(from.partner_confidence.empty() || from.partner_confidence.size() == from.rows.size());
  if (plan.by == By::classes) return by_class(from, most, rng);
  const bool draws = plan.by == By::random || plan.by == By::novel || plan.by == By::signed_;
  std::vector<std::pair<double, std::uint32_t>> keys;
  keys.reserve(from.rows.size());
  for (std::size_t i = 0; i < from.rows.size(); ++i) {
    const double key =
        draws ? std::log(1.0 - rng.uniform()) / weight(plan, from, i) : score(plan.by, from, i);
    keys.emplace_back(key, from.rows[i]);
  }
  return largest(std::move(keys), most);
}

}  // namespace hearsay::runtime
