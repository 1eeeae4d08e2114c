// SPDX-License-Identifier: Apache-2.0
#include "clustering/steering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/core/check.hpp"

namespace hearsay::clustering {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kBegin = 0.2, kEnd = 0.8;  // of the run: where the change happens

std::size_t own_size(std::span<const std::uint32_t> labels, std::size_t self) {
  return static_cast<std::size_t>(std::count(labels.begin(), labels.end(), labels[self]));
}

std::vector<double> even_weights(std::size_t peers, std::size_t self) {
  std::vector<double> weights(peers, peers > 1 ? 1.0 / static_cast<double>(peers - 1) : 0.0);
  weights[self] = 0.0;
  return weights;
}

}  // namespace

std::vector<double> partner_weights(std::span<const std::uint32_t> labels, std::size_t self,
                                    double outside) {
  HS_CHECK(self < labels.size() && outside >= 0.0 && outside <= 1.0);
  const std::size_t peers = labels.size(), inside = own_size(labels, self);
  if (inside == 1 || inside == peers) return even_weights(peers, self);
  const double near = (1.0 - outside) / static_cast<double>(inside - 1);
  const double far = outside / static_cast<double>(peers - inside);
  std::vector<double> weights(peers);
  for (std::size_t j = 0; j < peers; ++j) weights[j] = labels[j] == labels[self] ? near : far;
  weights[self] = 0.0;
  return weights;
}

double uniform_outside(std::span<const std::uint32_t> labels, std::size_t self) {
  HS_CHECK(self < labels.size());
  if (labels.size() < 2) return 0.0;
  return static_cast<double>(labels.size() - own_size(labels, self)) /
         static_cast<double>(labels.size() - 1);
}

double change_done(double progress) {
  const double t = std::clamp((progress - kBegin) / (kEnd - kBegin), 0.0, 1.0);
  return 0.5 * (1.0 - std::cos(std::numbers::pi * t));
}

double outside_share(Mixing mixing, double progress, double uniform, double outside) {
  switch (mixing) {
    case Mixing::early: return std::lerp(outside, uniform, change_done(progress));
    case Mixing::warm_up: return std::lerp(uniform, outside, change_done(progress));
    case Mixing::never: return outside;
  }
  return outside;
}

std::vector<double> soft_weights(std::span<const double> distances, std::size_t self,
                                 double temperature) {
  HS_CHECK(self < distances.size() && temperature >= 0.0);
  const std::size_t peers = distances.size();
  double nearest = kInf;
  for (std::size_t j = 0; j < peers; ++j) {
    if (j != self) nearest = std::min(nearest, distances[j]);
  }
  if (nearest == kInf) return even_weights(peers, self);
  std::vector<double> weights(peers);
  double sum = 0.0;
  for (std::size_t j = 0; j < peers; ++j) {
    const double distance = distances[j];
    if (j == self || distance == kInf) continue;
    // Relative to the nearest, whose weight is 1: the sum cannot vanish.
    const double excess = distance - nearest;
    weights[j] = excess == 0.0 ? 1.0 : std::exp(-excess / temperature);
    sum += weights[j];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

double temperature(Mixing mixing, double progress, double cold, double hot) {
  HS_CHECK(cold > 0.0 && hot > 0.0);
  return std::exp(outside_share(mixing, progress, std::log(hot), std::log(cold)));
}

}  // namespace hearsay::clustering
