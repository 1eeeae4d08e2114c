// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/tamper.hpp"

#include <cmath>
#include <vector>

#include "gossip/protocols/testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay;
using namespace hearsay::runtime;

namespace {

constexpr std::size_t kValues = 3000;

std::vector<float> sent(Tamper& tamper, gossip::testkit::TinyModel& model, float weight) {
  gossip::Frame frame;
  frame.values = model.copy(std::vector<float>(kValues, weight));
  tamper.apply(frame, model);
  return {frame.values->span().begin(), frame.values->span().end()};
}

double distance(const std::vector<float>& values, float from) {
  double sum = 0.0;
  for (const float v : values) sum += std::pow(v - from, 2);
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("each attack sends what its name says, and nothing is changed when it is over") {
  gossip::testkit::TinyModel model(std::vector<float>(kValues, 1.0f));
  Tamper tamper(1, kernels::PeerId(3));
  CHECK(sent(tamper, model, 2.0f) == std::vector<float>(kValues, 2.0f));
  const auto begin = [&](Attack attack, double strength) {
    tamper.begin(attack, strength, model.snapshot());
  };
  begin(Attack::nan, 1);
  int bad = 0;
  for (const float v : sent(tamper, model, 2.0f)) bad += std::isnan(v) ? 1 : 0;
  CHECK(bad == 3);
  begin(Attack::scale, 10);
  CHECK(sent(tamper, model, 2.0f) == std::vector<float>(kValues, 20.0f));
  begin(Attack::sign_flip, 1);
  CHECK(sent(tamper, model, 2.0f) == std::vector<float>(kValues, 0.0f));
  begin(Attack::replay_stale, 1);
  CHECK(sent(tamper, model, 2.0f) == std::vector<float>(kValues, 1.0f));
  const double size = 2.0 * std::sqrt(double{kValues});
  begin(Attack::noise, 0.5);
  const auto first = sent(tamper, model, 2.0f), second = sent(tamper, model, 2.0f);
  CHECK(distance(first, 2.0f) == Approx(0.5 * size).epsilon(0.1));
  CHECK(first != second);
  begin(Attack::drift, 0.5);
  const auto here = sent(tamper, model, 2.0f);
  CHECK(distance(here, 2.0f) == Approx(0.5 * size).epsilon(0.1));
  CHECK(here == sent(tamper, model, 2.0f));
  tamper.end();
  CHECK(sent(tamper, model, 2.0f) == std::vector<float>(kValues, 2.0f));
}

TEST_CASE("every attack is found by its own name") {
  for (const char* name : {"nan", "scale", "sign-flip", "noise", "replay-stale", "drift"}) {
    const auto attack = find_attack(name);
    REQUIRE(attack);
    CHECK(name_of(*attack) == name);
    CHECK(usual_strength(*attack) > 0.0);
  }
  CHECK_FALSE(find_attack("kill"));
}
