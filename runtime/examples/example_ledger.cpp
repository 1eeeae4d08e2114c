// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/example_ledger.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/core/check.hpp"
#include "runtime/examples/columns.hpp"

namespace hearsay::runtime {
namespace {

constexpr float kNone = -1.0f;

void count(std::uint16_t& number) {
  if (number < std::numeric_limits<std::uint16_t>::max()) ++number;
}

}  // namespace

template <typename Visit>
void ExampleLedger::for_each_column(Visit&& visit) {
  visit("confidence", confidence, 0.0f);
  visit("margin", margin, 0.0f);
  visit("mean", mean, 0.0f);
  visit("squares", squares, 0.0f);
  visit("train_confidence", train_confidence, kNone);
  visit("own_loss", own_loss, kNone);
  visit("other_loss", other_loss, kNone);
  visit("evals", evals, std::uint16_t{0});
  visit("correct", correct, std::uint16_t{0});
  visit("forgets", forgets, std::uint16_t{0});
  visit("since_forget", since_forget, std::uint16_t{0});
  visit("last_right", last_right, std::uint8_t{0});
  visit("last_seen", last_seen, std::uint64_t{0});
  visit("visits", visits, std::uint32_t{0});
  visit("visitors", visitors, PeerSet{});
  visit("judges", judges, PeerSet{});
  visit("agreed", agreed, PeerSet{});
  visit("tier", tier, Tier::active);
}

ExampleLedger::ExampleLedger(std::size_t rows, kernels::PeerId self, std::uint32_t peers)
    : self_(self), peers_(peers) {
  for_each_column([rows](const char*, auto& column, auto fresh) { column.assign(rows, fresh); });
}

void ExampleLedger::add_row() {
  for_each_column([](const char*, auto& column, auto fresh) { column.push_back(fresh); });
  for (KeptLook& look : kept) look.confidence.push_back(0.0f);
}

void ExampleLedger::forget_row(std::size_t row) {
  HS_CHECK(row < rows());
  for_each_column([row](const char*, auto& column, auto fresh) { column[row] = fresh; });
  for (KeptLook& look : kept) look.confidence[row] = 0.0f;
}

void ExampleLedger::validated(std::size_t row, kernels::PeerId model, const Look& look, bool counts,
                              const Bounds& bounds) {
  if (!std::isfinite(look.confidence) || !std::isfinite(look.loss)) return;  // of broken weights
  const bool first = evals[row] == 0;
  const float share = first ? 1.0f : kNewest;
  confidence[row] += share * (look.confidence - confidence[row]);
  margin[row] += share * (look.margin - margin[row]);
  count(evals[row]);
  const float step = look.confidence - mean[row];
  mean[row] += step / static_cast<float>(evals[row]);
  squares[row] += step * (look.confidence - mean[row]);
  if (look.right()) count(correct[row]);

  const bool wrong_again = last_right[row] != 0 && !look.right();
  if (wrong_again) count(forgets[row]);
  if (wrong_again || look.confidence < bounds.forgotten)
    since_forget[row] = 0;
  else
    count(since_forget[row]);
  last_right[row] = look.right() ? 1 : 0;

  judges[row].add(model, peers_);
  if (look.right() && look.confidence >= bounds.confident) {
    if (counts) agreed[row].add(model, peers_);
  } else {
    agreed[row].remove(model, peers_);
  }
  if (model == self_)
    own_loss[row] = look.loss;
  else if (!visitors[row].has(model, peers_))
    other_loss[row] = look.loss;
}

void ExampleLedger::trained(std::size_t row, const Look& look, std::uint64_t samples) {
  if (!std::isfinite(look.confidence) || !std::isfinite(look.loss)) return;
  train_confidence[row] =
      train_confidence[row] < 0.0f
          ? look.confidence
          : train_confidence[row] + kNewest * (look.confidence - train_confidence[row]);
  own_loss[row] = look.loss;
  last_seen[row] = samples;
  ++visits[row];
  visitors[row].add(self_, peers_);
}

float ExampleLedger::variability(std::size_t row) const {
  if (evals[row] < 2) return 0.0f;
  return std::sqrt(std::max(0.0f, squares[row]) / static_cast<float>(evals[row] - 1));
}

float ExampleLedger::reducible_loss(std::size_t row) const {
  if (own_loss[row] < 0.0f || other_loss[row] < 0.0f) return 0.0f;
  return own_loss[row] - other_loss[row];
}

double likeness(std::span<const float> a, std::span<const float> b,
                std::span<const std::uint8_t> present) {
  HS_CHECK(a.size() == b.size() && a.size() == present.size());
  double n = 0.0, sum_a = 0.0, sum_b = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (present[i] == 0) continue;
    n += 1.0;
    sum_a += a[i];
    sum_b += b[i];
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (present[i] == 0) continue;
    const double x = a[i] - sum_a / n, y = b[i] - sum_b / n;
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  return aa > 0.0 && bb > 0.0 ? ab / std::sqrt(aa * bb) : 0.0;
}

void ExampleLedger::state(gossip::Archive& archive) {
  std::size_t count = rows();
  archive("rows", count);
  constexpr std::size_t kMostRows = std::size_t{1} << 32;  // before memory: a column has its bytes
  if (archive.loading() && count > kMostRows) archive.fail("rows", "is out of range");
  for_each_column(
      [&](const char* key, auto& column, auto) { keep_column(archive, key, column, count); });
  std::vector<kernels::PeerId> models;
  for (const KeptLook& look : kept) models.push_back(look.model);
  archive("kept", models);
  if (archive.loading()) {
    if (models.size() > kKeptLooks) archive.fail("kept", "has too many looks");
    kept.assign(models.size(), {});
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    kept[i].model = models[i];
    keep_column(archive, ("kept_" + std::to_string(i)).c_str(), kept[i].confidence, count);
  }
  if (!archive.loading()) return;
  for (const Tier each : tier) {
    if (static_cast<std::size_t>(each) >= kTiers) archive.fail("tier", "does not exist");
  }
  for (std::size_t row = 0; row < count; ++row) {
    for (const float value : {confidence[row], margin[row], mean[row], squares[row],
                              train_confidence[row], own_loss[row], other_loss[row]}) {
      if (std::isnan(value)) archive.fail("confidence", "is no number");
    }
  }
}

}  // namespace hearsay::runtime
