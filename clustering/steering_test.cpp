// SPDX-License-Identifier: Apache-2.0
#include "clustering/steering.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "clustering/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::clustering;

namespace {

using Labels = std::vector<std::uint32_t>;
constexpr double kInf = std::numeric_limits<double>::infinity();

double sum_of(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

std::vector<double> soft_weights(const Distances& distances, std::size_t self, double temperature) {
  std::vector<double> row;
  for (std::size_t j = 0; j < distances.size(); ++j) row.push_back(distances(self, j));
  return hearsay::clustering::soft_weights(row, self, temperature);
}

}  // namespace

TEST_CASE("the share outside is what it says, evenly on either side") {
  const Labels labels = {0, 1, 0, 1, 1, 0, 0, 2};
  const auto weights = partner_weights(labels, 2, 0.2);
  CHECK(weights[2] == 0.0);
  for (const std::size_t j : {0u, 5u, 6u}) CHECK(weights[j] == Approx(0.8 / 3));
  for (const std::size_t j : {1u, 3u, 4u, 7u}) CHECK(weights[j] == Approx(0.2 / 4));
  CHECK(sum_of(weights) == Approx(1.0));
  CHECK(partner_weights(labels, 2, 0.0)[1] == 0.0);
  CHECK(partner_weights(labels, 2, 1.0)[0] == 0.0);
}

TEST_CASE("peers alone, and peers in a community of all, choose evenly") {
  for (const double outside : {0.0, 0.05, 1.0}) {
    const auto alone = partner_weights(Labels{0, 1, 1, 1, 1}, 0, outside);
    for (std::size_t j = 1; j < 5; ++j) CHECK(alone[j] == 0.25);
    const auto all = partner_weights(Labels(5, 3), 0, outside);
    for (std::size_t j = 1; j < 5; ++j) CHECK(all[j] == 0.25);
    CHECK(alone[0] == 0.0);
    CHECK(partner_weights(Labels{0}, 0, outside) == std::vector<double>{0.0});
  }
}

TEST_CASE("at the uniform share everybody is as likely as everybody else") {
  const Labels labels = {0, 1, 0, 1, 1, 0, 1, 1, 1};
  for (std::size_t self = 0; self < labels.size(); ++self) {
    const double share = uniform_outside(labels, self);
    const auto weights = partner_weights(labels, self, share);
    for (std::size_t j = 0; j < labels.size(); ++j) {
      CHECK(weights[j] == Approx(j == self ? 0.0 : 1.0 / 8));
    }
  }
  CHECK(uniform_outside(Labels{0}, 0) == 0.0);
  CHECK(uniform_outside(Labels{0, 0}, 0) == 0.0);
  CHECK(uniform_outside(Labels{0, 1}, 0) == 1.0);
}

TEST_CASE("schedules begin and end where they say and change over the middle only") {
  constexpr double kUniform = 0.6, kOutside = 0.1;
  const auto share = [&](Mixing mixing, double t) {
    return outside_share(mixing, t, kUniform, kOutside);
  };
  for (const double t : {0.0, 0.1, 0.2}) {
    CHECK(share(Mixing::early, t) == Approx(kOutside));
    CHECK(share(Mixing::warm_up, t) == Approx(kUniform));
  }
  for (const double t : {0.8, 0.9, 1.0}) {
    CHECK(share(Mixing::early, t) == Approx(kUniform));
    CHECK(share(Mixing::warm_up, t) == Approx(kOutside));
  }
  CHECK(share(Mixing::early, 0.5) == Approx(0.35));
  CHECK(share(Mixing::early, 0.35) == Approx(0.1 + 0.5 * 0.5 * (1 - std::sqrt(0.5))));
  for (double t = 0.2; t < 0.79; t += 0.05) {
    CHECK(share(Mixing::early, t) < share(Mixing::early, t + 0.05));
    CHECK(share(Mixing::warm_up, t) > share(Mixing::warm_up, t + 0.05));
    CHECK(share(Mixing::never, t) == kOutside);
  }
  CHECK(outside_share(Mixing::never, 0.5, kUniform) == 0.05);
}

TEST_CASE("soft weights fall by e for each temperature of distance") {
  Distances distances(5);
  for (std::size_t j = 1; j < 5; ++j) distances.set(0, j, 1000.0 + 2.0 * static_cast<double>(j));
  const auto weights = soft_weights(distances, 0, 2.0);
  CHECK(weights[0] == 0.0);
  CHECK(sum_of(weights) == Approx(1.0));
  for (std::size_t j = 2; j < 5; ++j) CHECK(weights[j - 1] / weights[j] == Approx(std::exp(1.0)));
  CHECK(soft_weights(distances, 0, 0.0) == std::vector<double>{0, 1, 0, 0, 0});
  for (const double w : soft_weights(distances, 1, kInf)) CHECK((w == 0.0 || w == 0.25));
  CHECK(sum_of(soft_weights(distances, 1, kInf)) == 1.0);
}

TEST_CASE("soft weights pass over isolated peers, unless there are no others") {
  Distances distances(4);
  for (std::size_t j = 0; j < 3; ++j) distances.set(3, j, kInf);
  const auto weights = soft_weights(distances, 0, 0.0);
  CHECK(weights == std::vector<double>{0, 0.5, 0.5, 0});
  CHECK(soft_weights(distances, 0, kInf)[3] == 0.0);
  for (std::size_t j = 0; j < 3; ++j) CHECK(soft_weights(distances, 3, 1.0)[j] == Approx(1.0 / 3));
  CHECK(soft_weights(Distances(1), 0, 1.0) == std::vector<double>{0.0});
}

TEST_CASE("temperatures rise in even ratios, fall in them, or stay") {
  CHECK(temperature(Mixing::early, 0.0, 1.0, 100.0) == Approx(1.0));
  CHECK(temperature(Mixing::early, 0.5, 1.0, 100.0) == Approx(10.0));
  CHECK(temperature(Mixing::early, 1.0, 1.0, 100.0) == Approx(100.0));
  CHECK(temperature(Mixing::warm_up, 0.0, 1.0, 100.0) == Approx(100.0));
  CHECK(temperature(Mixing::warm_up, 1.0, 1.0, 100.0) == Approx(1.0));
  CHECK(temperature(Mixing::never, 0.5, 3.0, 100.0) == Approx(3.0));
}
