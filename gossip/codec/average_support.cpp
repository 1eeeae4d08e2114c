// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/average_support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/core/workers.hpp"
#include "kernels/ops/moving_average_ops.hpp"

namespace hearsay::gossip {
namespace {

using Kind = AverageRule::Kind;

void clear(std::span<float> values) { std::fill(values.begin(), values.end(), 0.0f); }

}  // namespace

AverageSupport::AverageSupport(AverageRule rule, Budget budget, const Places& places,
                               std::size_t most)
    : EntrySupport(places, most),
      rule_(rule),
      budget_(std::move(budget)),
      average_(places.size()),
      last_(rule.kind == Kind::score ? places.size() : 0) {
  forget();
}

void AverageSupport::forget() {
  clear(average_.span());
  clear(last_.span());
  has_last_ = false;
  threshold_ = 0.0f;
}

void AverageSupport::pick(std::span<const float> weights, std::span<float> published,
                          std::vector<std::uint32_t>& at) {
  const std::size_t n = weights.size();
  std::vector<float> rank(n);
  if (rule_.kind == Kind::score) {
    score(weights, published, rank);
    return budget_.largest({.w = rank}, at);
  }
  for (std::size_t i = 0; i < n; ++i) rank[i] = weights[i] - published[i];
  count_in(rank);
  if (rule_.kind == Kind::literal) {
    for (std::size_t i = 0; i < n; ++i) {
      if (rank[i] > 0.0f && rank[i] >= threshold_ && std::isfinite(rank[i]))
        at.push_back(static_cast<std::uint32_t>(i));
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i)
    rank[i] = std::isfinite(rank[i]) && rank[i] != 0.0f ? average_.data()[i] : 0.0f;
  budget_.largest({.w = rank}, at);
}

void AverageSupport::count_in(std::span<const float> u) {
  kernels::OneWorker worker;
  threshold_ = kernels::moving_average(average_.span(), u, {},
                                       {.beta = static_cast<float>(rule_.beta),
                                        .keep = budget_.entries(),
                                        .last_tau = threshold_},
                                       worker)
                   .tau;
}

void AverageSupport::score(std::span<const float> weights, std::span<const float> published,
                           std::span<float> rank) {
  const std::span<float> last = last_.span();
  // Before the first message all that has happened is what has not been said.
  if (!std::exchange(has_last_, true)) std::copy(published.begin(), published.end(), last.begin());
  for (const std::uint32_t i : places().small()) last[i] = weights[i];
  for (std::size_t i = 0; i < rank.size(); ++i) {
    rank[i] = weights[i] - last[i];
    if (std::isfinite(weights[i])) last[i] = weights[i];
  }
  count_in(rank);
  constexpr float kMost = std::numeric_limits<float>::max();
  for (std::size_t i = 0; i < rank.size(); ++i) {
    const float x = std::fabs(weights[i] - published[i]);
    rank[i] = std::isfinite(x) ? std::min(x * average_.data()[i], kMost) : 0.0f;
  }
}

void AverageSupport::state(Archive& archive) {
  const std::size_t size = average_.size();
  archive.array("average", average_);
  if (average_.size() != size) archive.fail("average", "is of another model");
  archive("threshold", threshold_);
  if (!(threshold_ >= 0.0f && std::isfinite(threshold_)))
    archive.fail("threshold", "is no magnitude");
  if (rule_.kind != Kind::score) return;
  archive.array("last", last_)("has_last", has_last_);
  if (last_.size() != size) archive.fail("last", "is of another model");
}

}  // namespace hearsay::gossip
