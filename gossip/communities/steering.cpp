// SPDX-License-Identifier: Apache-2.0
#include "gossip/communities/steering.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "gossip/limits.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {

using kernels::PeerId;

namespace {

constexpr std::uint32_t kLeastKnown = 4;  // two communities of two
constexpr double kUnknown = -1.0;         // a distance: nothing has come of that peer
constexpr double kMostDistance = 2.0;     // 1 - cosine
constexpr double kHot = 10.0;             // a temperature at which all partners are nearly equal

std::int64_t integer(std::uint64_t value) { return static_cast<std::int64_t>(value); }

std::vector<std::int64_t> integers(std::span<const std::uint32_t> values) {
  return {values.begin(), values.end()};
}

// In thousandths: 3 digits are more than a sketch of 1,024 values has.
std::vector<std::int64_t> thousandths(std::span<const double> distances) {
  std::vector<std::int64_t> out;
  for (const double d : distances) out.push_back(d < 0.0 ? -1 : std::llround(1000.0 * d));
  return out;
}

// Which rounds log their distances: all in pools of up to 64 peers, fewer in larger ones, so that a
// round costs about 300 bytes of log at most.
bool logs_distances(std::uint64_t round, std::size_t peers) {
  return (round - 1) % std::max<std::size_t>(1, (peers + 63) / 64) == 0;
}

double norm_of(std::span<const float> values) {
  double squares = 0.0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

merge::PackedRef packed(std::span<const float> values) {
  auto bytes = std::make_shared<merge::Packed>();
  bytes->bytes.resize(values.size_bytes());
  if (!values.empty()) std::memcpy(bytes->bytes.data(), values.data(), values.size_bytes());
  return bytes;
}

struct KeptCommunities {
  clustering::CommunitiesState& of;
  void state(Archive& a) {
    a("labels", of.labels)("targets", of.targets)("streaks", of.streaks);
    a("next_label", of.next_label)("rounds", of.rounds)("accepted", of.accepted);
    a("moves", of.moves);
  }
};

}  // namespace

Steering::Steering(std::shared_ptr<const CommunityPlan> plan, PeerId self, std::uint32_t peers,
                   std::uint32_t incarnation)
    : plan_(std::move(plan)),
      self_(self),
      incarnation_(incarnation),
      table_(self, peers, plan_->sketch_values()),
      communities_(peers),
      placed_(peers, 0) {
  HS_CHECK(plan_->finds() || plan_->given.size() == peers);
}

void Steering::add_block(std::span<const float> sketch) {
  const double norm = norm_of(sketch);
  if (!std::isfinite(norm) || norm == 0.0) return;
  direction_.resize(sketch.size(), 0.0f);
  const auto memory = static_cast<float>(plan_->memory);
  for (std::size_t i = 0; i < sketch.size(); ++i)
    direction_[i] = memory * direction_[i] + sketch[i];
  const double length = norm_of(direction_);
  if (!std::isfinite(length) || length == 0.0) return direction_.clear();
  std::vector<float> scaled;
  scaled.reserve(direction_.size());
  for (const float value : direction_) scaled.push_back(static_cast<float>(value / length));
  table_.set_own(scaled, incarnation_);
}

void Steering::learn(std::span<const Sketch> sketches, PeerId from, std::uint64_t clock) {
  if (finds()) table_.learn(sketches, from, clock);
}

std::vector<Sketch> Steering::for_partner(PeerId partner) {
  return finds() ? table_.for_partner(partner, limits::kSketches) : std::vector<Sketch>{};
}

std::vector<Event> Steering::look(std::uint64_t clock) {
  if (!finds() || clock < next_look_ || !table_.knows(self_.value) || table_.known() < kLeastKnown)
    return {};
  next_look_ = clock + plan_->every;
  const std::vector<std::vector<float>> rows = table_.rows();
  const std::vector<std::span<const float>> sketches(rows.begin(), rows.end());
  const clustering::Discovery found = clustering::discover(sketches, plan_->recipe);
  const clustering::Round round = communities_.update(found.partition, found.distances);
  silhouette_ = found.silhouette;
  keep_row(found.distances);
  if (round.accepted) place_newcomers();

  std::vector<Event> events;
  Event updated("cluster.updated");
  updated.add("round", integer(communities_.state().rounds));
  updated.add("labels", integers(labels())).add("known", std::int64_t{table_.known()});
  updated.add("silhouette", found.silhouette).add("null", found.null_limit);
  updated.add("ari", round.agreement.adjusted_rand).add("accepted", round.accepted);
  updated.add("moved", std::int64_t{round.moved}).add("oldest", integer(table_.oldest(clock)));
  if (logs_distances(communities_.state().rounds, row_.size()))
    updated.add("distances", thousandths(row_));
  events.push_back(std::move(updated));
  if (auto changed = note_change()) events.push_back(std::move(*changed));
  return events;
}

// Whoever has not been known before goes where the round has put it: inertia is for peers that have
// been somewhere.
void Steering::place_newcomers() {
  clustering::CommunitiesState state = communities_.state();
  for (std::uint32_t i = 0; i < placed_.size(); ++i) {
    if (placed_[i] != 0 || !table_.knows(i)) continue;
    placed_[i] = 1;
    state.labels[i] = state.targets[i];
    state.streaks[i] = 0;
    state.next_label = std::max(state.next_label, state.labels[i] + 1);
  }
  HS_CHECK(communities_.restore(state));
}

void Steering::keep_row(const clustering::Distances& distances) {
  row_.assign(distances.size(), kUnknown);
  for (std::size_t i = 0; i < row_.size(); ++i) {
    const double distance = distances(self_.value, i);
    if (std::isfinite(distance)) row_[i] = distance;
  }
}

std::optional<Event> Steering::note_change() {
  std::vector<std::uint32_t> members;
  const std::uint32_t label = communities_.label(self_.value);
  for (std::uint32_t i = 0; i < placed_.size(); ++i) {
    if (placed_[i] != 0 && communities_.label(i) == label) members.push_back(i);
  }
  if (members == members_ && label == label_) return std::nullopt;
  members_ = members;
  label_ = label;
  Event changed("community.changed");
  changed.add("label", std::int64_t{label}).add("size", integer(members.size()));
  changed.add("members", integers(members)).add("silhouette", silhouette_);
  return changed;
}

std::vector<std::uint32_t> Steering::labels() const {
  if (!finds()) return plan_->given;
  std::vector<std::uint32_t> labels(communities_.labels().begin(), communities_.labels().end());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (placed_[i] == 0) labels[i] = labels[self_.value];
  }
  return labels;
}

// Of whom nothing is known is as far as the others are on average.
std::vector<double> Steering::soft_weights(double progress) const {
  double sum = 0.0, known = 0.0;
  for (std::size_t i = 0; i < row_.size(); ++i) {
    if (PeerId(static_cast<std::uint32_t>(i)) == self_ || row_[i] == kUnknown) continue;
    sum += row_[i];
    known += 1.0;
  }
  std::vector<double> row(placed_.size(), known > 0.0 ? sum / known : 1.0);
  for (std::size_t i = 0; i < row_.size(); ++i)
    if (row_[i] != kUnknown) row[i] = row_[i];
  return clustering::soft_weights(
      row, self_.value,
      clustering::temperature(plan_->mixing, progress, *plan_->temperature, kHot));
}

std::vector<double> Steering::weights(double progress) const {
  if (plan_->temperature) return soft_weights(progress);
  const std::vector<std::uint32_t> now = labels();
  const double uniform = clustering::uniform_outside(now, self_.value);
  const double outside =
      clustering::outside_share(plan_->mixing, progress, uniform, plan_->outside);
  return clustering::partner_weights(now, self_.value, outside);
}

std::optional<double> Steering::likeness(PeerId peer) const {
  if (!finds() || !table_.knows(self_.value) || !table_.knows(peer.value) ||
      table_.known() < kLeastKnown)
    return std::nullopt;
  const std::vector<std::vector<float>> rows = table_.rows();
  std::vector<double> mean(rows[self_.value].size(), 0.0);
  for (const std::vector<float>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      mean[i] += row[i] / static_cast<double>(table_.known());
  }
  double aa = 0.0, bb = 0.0, ab = 0.0;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double a = rows[self_.value][i] - mean[i], b = rows[peer.value][i] - mean[i];
    aa += a * a;
    bb += b * b;
    ab += a * b;
  }
  if (!(aa > 0.0 && bb > 0.0)) return std::nullopt;
  return std::clamp(0.5 + 0.5 * ab / std::sqrt(aa * bb), 0.0, 1.0);
}

void Steering::state(Archive& archive) {
  merge::PackedRef direction = packed(direction_);
  clustering::CommunitiesState kept = communities_.state();
  KeptCommunities communities{kept};
  archive("direction", direction)("table", table_)("communities", communities);
  archive("placed", placed_)("members", members_)("label", label_)("next_look", next_look_);
  archive("silhouette", silhouette_);
  if (archive.loading()) row_.clear();  // which older checkpoints do not have
  if (!row_.empty() || archive.has("row")) archive("row", row_);
  if (!archive.loading()) return;
  const auto is_distance = [](double d) {
    return d == kUnknown || (d >= 0.0 && d <= kMostDistance);
  };
  if (!(row_.empty() || row_.size() == placed_.size()) ||
      !std::all_of(row_.begin(), row_.end(), is_distance))
    archive.fail("row", "has not a distance of each peer");
  const std::size_t bytes = direction ? direction->bytes.size() : 0;
  if (bytes != 0 && bytes != sizeof(float) * plan_->sketch_values())
    archive.fail("direction", "is no sketch of this size");
  direction_.resize(bytes / sizeof(float));
  if (bytes > 0) std::memcpy(direction_.data(), direction->bytes.data(), bytes);
  if (placed_.size() != communities_.peers() || !communities_.restore(kept))
    archive.fail("communities", "are not of this pool");
}

}  // namespace hearsay::gossip
