// SPDX-License-Identifier: Apache-2.0
#include "clustering/communities.hpp"

#include <algorithm>
#include <limits>

#include "clustering/assignment.hpp"
#include "clustering/silhouette.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::clustering {
namespace {

constexpr std::uint32_t kNoLabel = std::numeric_limits<std::uint32_t>::max();

std::vector<std::uint32_t> known_peers(const Distances& distances) {
  std::vector<std::uint32_t> known;
  for (std::uint32_t i = 0; i < distances.size(); ++i) {
    if (!distances.isolated(i)) known.push_back(i);
  }
  return known;
}

Partition restricted(std::span<const std::uint32_t> labels, std::span<const std::uint32_t> peers) {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t peer : peers) out.push_back(labels[peer]);
  return numbered(out);
}

// Labels that somebody has or is on the way to, ascending.
std::vector<std::uint32_t> labels_in_use(const CommunitiesState& state) {
  std::vector<std::uint32_t> out = state.labels;
  out.insert(out.end(), state.targets.begin(), state.targets.end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::size_t position(std::span<const std::uint32_t> ascending, std::uint32_t label) {
  const auto at = std::lower_bound(ascending.begin(), ascending.end(), label);
  return static_cast<std::size_t>(at - ascending.begin());
}

}  // namespace

Communities::Communities(std::size_t peers, const Inertia& inertia)
    : peers_(peers), inertia_(inertia) {
  state_.labels.assign(peers, 0);
  state_.targets.assign(peers, 0);
  state_.streaks.assign(peers, 0);
  state_.next_label = 1;
}

Round Communities::update(const Partition& proposed, const Distances& distances) {
  HS_CHECK(proposed.labels.size() == peers_ && distances.size() == peers_);
  Round round;
  judge(proposed, distances, round);
  if (state_.rounds == 0) {
    round.accepted = true;
    state_.labels = state_.targets = numbered(proposed.labels).labels;
    state_.next_label = std::max(1u, proposed.count);
  } else if (round.accepted) {
    round.moved = move_peers(proposed, distances, known_peers(distances));
  } else {
    state_.targets = state_.labels;
    std::fill(state_.streaks.begin(), state_.streaks.end(), 0u);
  }
  ++state_.rounds;
  state_.accepted += round.accepted ? 1 : 0;
  state_.moves += round.moved;
  return round;
}

void Communities::judge(const Partition& proposed, const Distances& distances, Round& round) const {
  const std::vector<std::uint32_t> known = known_peers(distances);
  const Partition before = restricted(state_.labels, known);
  const Partition after = restricted(proposed.labels, known);
  round.agreement = agreement(before, after);
  const double one = before.count < 2 ? inertia_.one_community : inertia_.given_up;
  const auto value = [&](const Partition& known_part, const Partition& whole) {
    return known_part.count < 2 ? one : silhouette(distances, whole);
  };
  round.present_silhouette = value(before, partition());
  round.proposed_silhouette = value(after, proposed);
  round.accepted = round.agreement.adjusted_rand > inertia_.least_agreement ||
                   round.proposed_silhouette >= round.present_silhouette + inertia_.least_gain;
}

// [proposed part] its label. A pending label counts as well, so that a community which nobody has
// reached yet is the same one in the next round.
std::vector<std::uint32_t> Communities::matched_labels(const Partition& proposed,
                                                       std::span<const std::uint32_t> known) const {
  const std::vector<std::uint32_t> in_use = labels_in_use(state_);
  const std::size_t columns = in_use.size() + proposed.count;  // the last ones: no label fits
  std::vector<double> gains(proposed.count * columns);
  for (const std::uint32_t peer : known) {
    double* row = gains.data() + proposed.labels[peer] * columns;
    row[position(in_use, state_.labels[peer])] += 1.0;
    if (state_.targets[peer] != state_.labels[peer]) {
      row[position(in_use, state_.targets[peer])] += 1.0;
    }
  }
  const std::vector<std::size_t> column = assign(proposed.count, columns, gains);
  std::uint32_t fresh = std::max(state_.next_label, in_use.empty() ? 0 : in_use.back() + 1);
  std::vector<std::uint32_t> labels(proposed.count, kNoLabel);
  for (std::size_t part = 0; part < labels.size(); ++part) {
    const bool fits = gains[part * columns + column[part]] > 0.0;
    labels[part] = fits ? in_use[column[part]] : fresh++;
  }
  return labels;
}

std::uint32_t Communities::move_peers(const Partition& proposed, const Distances& distances,
                                      std::span<const std::uint32_t> known) {
  const std::vector<std::uint32_t> labels = matched_labels(proposed, known);
  const PartSums sums = part_sums(distances, proposed);
  const std::size_t parts = sums.sizes.size();
  std::vector<std::uint32_t> label_of(parts);  // sums number the parts that have known peers
  for (const std::uint32_t i : known) label_of[sums.part[i]] = labels[proposed.labels[i]];
  const auto wants_to_move = [&](std::uint32_t peer) {
    const std::uint32_t part = sums.part[peer];
    const auto old = std::find(label_of.begin(), label_of.end(), state_.labels[peer]);
    if (old == label_of.end()) return true;
    if (sums.sizes[part] < 2) return false;
    const auto old_part = static_cast<std::size_t>(old - label_of.begin());
    const double there = sums.sums[peer * parts + part] / (sums.sizes[part] - 1);
    const double here = sums.sums[peer * parts + old_part] / sums.sizes[old_part];
    return there <= inertia_.nearer * here;
  };
  std::uint32_t moved = 0;
  std::vector<std::uint32_t> targets = state_.labels;
  for (const std::uint32_t peer : known) {
    const std::uint32_t target = label_of[sums.part[peer]];
    if (target == state_.labels[peer] || !wants_to_move(peer)) {
      state_.streaks[peer] = 0;
      continue;
    }
    state_.streaks[peer] = target == state_.targets[peer] ? state_.streaks[peer] + 1 : 1;
    targets[peer] = target;
    if (state_.streaks[peer] < inertia_.rounds) continue;
    state_.labels[peer] = target;
    state_.streaks[peer] = 0;
    state_.next_label = std::max(state_.next_label, target + 1);
    ++moved;
  }
  state_.targets = std::move(targets);
  return moved;
}

std::uint32_t Communities::size(std::uint32_t label) const {
  return static_cast<std::uint32_t>(std::count(state_.labels.begin(), state_.labels.end(), label));
}

bool Communities::restore(const CommunitiesState& state) {
  const auto is_used = [&](std::uint32_t label) { return label < state.next_label; };
  if (state.labels.size() != peers_ || state.targets.size() != peers_ ||
      state.streaks.size() != peers_ || state.accepted > state.rounds ||
      !std::all_of(state.labels.begin(), state.labels.end(), is_used)) {
    return false;
  }
  state_ = state;
  return true;
}

}  // namespace hearsay::clustering
