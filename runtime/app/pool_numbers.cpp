// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/pool_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace hearsay::runtime {
namespace {

using State = PeerStatus::State;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeastProgress = 0.01;  // below it the speed so far says little

}  // namespace

PoolNumbers numbers_of(std::span<const PeerView> peers, const std::optional<PoolNow>& now) {
  PoolNumbers pool;
  pool.peers = static_cast<std::uint32_t>(peers.size());
  double loss = 0.0, loss_squares = 0.0, accuracy = 0.0;
  unsigned losses = 0, accuracies = 0;
  for (const PeerView& view : peers) {
    const PeerStatus& status = view.status;
    pool.samples += status.samples;
    pool.merges += status.merges;
    pool.refused += status.merges_refused;
    pool.payload_bytes += status.payload_bytes;
    if (status.state == State::lost) continue;
    ++pool.live;
    if (has_trained(status) && std::isfinite(status.loss)) {
      loss += status.loss;
      loss_squares += status.loss * status.loss;
      ++losses;
    }
    if (status.accuracy >= 0.0) {
      accuracy += status.accuracy;
      ++accuracies;
    }
  }
  if (now) pool.live = now->live;
  pool.loss_mean = losses == 0 ? kNone : loss / losses;
  pool.loss_deviation =
      losses == 0
          ? kNone
          : std::sqrt(std::max(0.0, loss_squares / losses - pool.loss_mean * pool.loss_mean));
  pool.accuracy = accuracies == 0 ? kNone : accuracy / accuracies;
  return pool;
}

std::string target_text(const std::optional<PoolNow>& now) {
  if (!now || !now->target) return {};
  char text[64];
  std::snprintf(text, sizeof text, "target %.3f", *now->target);
  std::string all = text;
  if (now->target_now) {
    std::snprintf(text, sizeof text, ", now %.3f", *now->target_now);
    all += text;
  }
  return all;
}

double seconds_left(std::span<const PeerView> peers) {
  double most = -1.0;
  for (const PeerView& view : peers) {
    const PeerStatus& status = view.status;
    const bool works = status.state == State::training || status.state == State::waiting;
    if (!works || status.progress < kLeastProgress || status.progress >= 1.0) continue;
    most = std::max(most, status.clock_s * (1.0 - status.progress) / status.progress);
  }
  return most;
}

}  // namespace hearsay::runtime
