// SPDX-License-Identifier: Apache-2.0
// From communities to partners: with what probability peer i turns to each other peer. A share e of
// its merges goes outside its community, evenly, the rest inside, evenly:
//     P(i -> j) = (1 - e) / (n_c - 1) inside,  e / (n - n_c) outside
// A peer alone in its community has e = 1, one that shares it with everybody e = 0: both choose
// evenly. With c communities of one size, differences between them decay about e c / (c - 1) times
// as fast as inside. P is not symmetric where sizes differ: one-way averaging is biased to members
// of small communities unless push-sum corrects it.
// Soft variant, without a cut: P ~ exp(-d / T). Weights are >= 0 and add up to 1; the own weight is
// 0; a pool of one has weight 0 on itself.
// Lane: any, pure. Cost: O(n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clustering/distances.hpp"

namespace hearsay::clustering {

// labels[peer]; `outside` from 0 to 1.
std::vector<double> partner_weights(std::span<const std::uint32_t> labels, std::size_t self,
                                    double outside);

// The share outside that makes all partners equal: (n - n_c) / (n - 1).
double uniform_outside(std::span<const std::uint32_t> labels, std::size_t self);

enum class Mixing : std::uint8_t {
  early,    // communities first: `outside` until 20 % of the run, uniform after 80 %
  warm_up,  // uniform until 20 %, communities after 80 %
  never     // `outside` all the time
};
// Share of progress (0 to 1) done with the change, by half a cosine over the middle 60 %.
double change_done(double progress);

inline constexpr double kLeastOutside = 0.05;
double outside_share(Mixing mixing, double progress, double uniform,
                     double outside = kLeastOutside);

// P ~ exp(-d(self, j) / T), distances[j] from `self`. T = +inf: evenly; T = 0: the nearest, evenly
// where several are. Peers at +inf get nothing, unless all are there: then evenly.
std::vector<double> soft_weights(std::span<const double> distances, std::size_t self,
                                 double temperature);

// From cold to hot in even ratios (early), back (warm_up), or cold all the time. Both > 0, finite.
double temperature(Mixing mixing, double progress, double cold, double hot);

}  // namespace hearsay::clustering
