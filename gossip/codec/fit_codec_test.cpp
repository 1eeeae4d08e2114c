// SPDX-License-Identifier: Apache-2.0
// Bits by need: few while partners are far apart, more as they come near, and back.
#include "gossip/codec/fit_codec.hpp"

#include <cmath>

#include "gossip/codec/testkit_pair.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;

// The rung on which two peers settle whose messages in two bits err by this share of their
// distance.
std::size_t settled(double noise_over_distance) {
  Fit fit(0.2);
  std::size_t changes = 0;
  for (int message = 0; message < 60; ++message) {
    fit.said(fit.rung(), noise_over_distance * Fit::kNoise[fit.rung()]);
    changes += fit.heard(1.0) && message >= 30;
  }
  CHECK(changes == 0);
  return fit.rung();
}

CodecSettings fitted() {
  CodecSettings settings = sparse(Kind::blocks, 0.25, ValueKind::fp32, true);
  settings.fits_bits = true;
  return settings;
}

double mean_square(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
    count += a[i] != b[i];
  }
  return sum / static_cast<double>(count);
}

}  // namespace

TEST_CASE("Bits settle where noise is at most a fifth of the distance, for any distance") {
  for (double ratio = 1e-3; ratio < 1e5; ratio *= 1.9) {
    const std::size_t rung = settled(ratio);
    INFO("noise of two bits over distance " << ratio << ", rung " << rung);
    CHECK((ratio * Fit::kNoise[rung] <= 0.2 || rung + 1 == Fit::kRungs));
    if (rung > 0) CHECK(ratio * Fit::kNoise[rung - 1] >= 0.1);
  }
  CHECK(settled(0.1) == 0);
  CHECK(settled(1e4) == 3);
}

TEST_CASE("More bits come at once, fewer after three messages; what is no number changes nothing") {
  Fit fit(0.2);
  CHECK(!fit.heard(1.0));  // nothing said yet
  fit.said(0, 1.0);
  CHECK(fit.heard(1.0));
  CHECK(fit.rung() == 2);
  CHECK(!fit.heard(std::nan("")));
  CHECK(!fit.heard(0.0));
  fit.said(9, 1.0);
  fit.said(0, -1.0);
  CHECK(fit.rung() == 2);
  unsigned messages = 0;
  while (fit.rung() == 2 && messages < 50) {
    fit.heard(1e3);
    ++messages;
  }
  CHECK(messages >= Fit::kCalm);
  CHECK(fit.rung() == 1);
  CHECK(!fit.heard(1e30));  // nobody is that far away who was here a message ago
  CHECK(fit.rung() == 1);
}

TEST_CASE("Two peers that answer each other meet, with ever more bits, and their mean stays") {
  TwoPeers peers(fitted(), 0.02);
  const std::size_t n = peers.size();
  Codec& a = *peers.first;
  Codec& b = *peers.second;
  std::vector<float>&wa = peers.of_first, &wb = peers.of_second;
  std::vector<float> of_a(n), of_b(n);
  std::vector<double> sums(n);
  for (std::size_t i = 0; i < n; ++i) sums[i] = static_cast<double>(wa[i]) + wb[i];
  const double at_first = mean_square(wa, wb);
  std::vector<std::string> spoken;
  for (int exchange = 0; exchange < 200; ++exchange) {
    const auto question = a.encode(wa, nullptr);
    if (spoken.empty() || spoken.back() != *a.spoken()) spoken.push_back(*a.spoken());
    REQUIRE(a.decode(*question, wa, of_a).fault == "");
    a.said(mean_square(of_a, wa));
    const auto answer = b.encode(wb, question.get());
    REQUIRE(a.decode(*answer, of_a, of_b).fault == "");
    a.heard(mean_square(of_b, of_a));
    for (std::size_t i = 0; i < n; ++i) {
      const float step = 0.5f * (of_b[i] - of_a[i]);
      wa[i] += step;
      wb[i] -= step;
    }
  }
  // Apart by less than a level they would not move at all: more bits have come.
  CHECK(spoken.size() >= 3);
  CHECK(spoken.front().find("lloyd2") != std::string::npos);
  CHECK(spoken.back().find("int") != std::string::npos);
  CHECK(mean_square(wa, wb) < 1e-2 * at_first);
  for (std::size_t i = 0; i < n; ++i)
    REQUIRE(std::fabs(static_cast<double>(wa[i]) + wb[i] - sums[i]) < 1e-5);
}

}  // namespace hearsay::gossip
