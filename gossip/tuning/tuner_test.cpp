// SPDX-License-Identifier: Apache-2.0
#include "gossip/tuning/tuner.hpp"

#include <cmath>
#include <limits>

#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TunePlan both() { return {true, true, 1.2, 5.0}; }

}  // namespace

TEST_CASE("everybody starts one step from the settings of the run, each its own way") {
  int up = 0;
  for (std::uint32_t peer = 0; peer < 200; ++peer) {
    const Tuner tuner(both(), 3, PeerId(peer));
    CHECK(std::abs(tuner.choice().lr) == 1);
    CHECK(std::abs(tuner.choice().alpha) == 1);
    up += tuner.choice().lr > 0 ? 1 : 0;
  }
  CHECK(up > 70);
  CHECK(up < 130);
  const Tuner lr_alone({true, false, 1.2, 5.0}, 3, PeerId(0));
  CHECK(lr_alone.alpha_factor() == 1.0);
  CHECK(lr_alone.lr_factor() == Approx(lr_alone.choice().lr > 0 ? 1.2 : 1.0 / 1.2));
}

TEST_CASE("settings are told as one number, and nothing else is settings") {
  for (int lr = -8; lr <= 8; ++lr) {
    for (int alpha = -8; alpha <= 8; ++alpha)
      CHECK(Tuner::decode(Tuner::code({lr, alpha})) == Tuner::Choice{lr, alpha});
  }
  for (const double wrong :
       {0.0, -1.0, 0.5, 1.5, 290.0, 1e9, kNone, std::numeric_limits<double>::infinity()})
    CHECK_FALSE(Tuner::decode(wrong));
}

TEST_CASE("settings of better models are copied in proportion to the gain, and changed by a step") {
  const Tuner::Choice theirs{5, -3};
  for (const double gain : {0.02, 0.1, 0.4}) {
    int copied = 0;
    for (std::uint32_t peer = 0; peer < 2000; ++peer) {
      Tuner tuner(both(), 1, PeerId(peer));
      const Tuner::Choice before = tuner.choice();
      if (!tuner.meet(theirs, 1.0, 1.0 - gain)) {
        CHECK(tuner.choice() == before);
        continue;
      }
      ++copied;
      CHECK(std::abs(tuner.choice().lr - theirs.lr) == 1);
      CHECK(std::abs(tuner.choice().alpha - theirs.alpha) == 1);
    }
    const double expected = std::min(1.0, 5.0 * gain);
    CHECK(copied / 2000.0 == Approx(expected).margin(0.04));
  }
}

TEST_CASE("worse models, and losses that are no numbers, teach nothing; a lost peer takes any") {
  for (std::uint32_t peer = 0; peer < 50; ++peer) {
    Tuner tuner(both(), 1, PeerId(peer));
    CHECK_FALSE(tuner.meet({5, 5}, 1.0, 1.0));
    CHECK_FALSE(tuner.meet({5, 5}, 1.0, 2.0));
    CHECK_FALSE(tuner.meet({5, 5}, 0.0, 0.0));
    CHECK_FALSE(tuner.meet({5, 5}, 1.0, kNone));
    CHECK_FALSE(tuner.meet({5, 5}, kNone, kNone));
    CHECK(tuner.meet({5, 5}, kNone, 1.0));
  }
}

TEST_CASE("factors stay within eight steps") {
  Tuner tuner(both(), 1, PeerId(0));
  for (int i = 0; i < 200; ++i) {
    tuner.meet({8, -8}, 1.0, 0.0);
    CHECK(tuner.lr_factor() <= std::pow(1.2, 8) * (1 + 1e-12));
    CHECK(tuner.choice().alpha >= -8);
  }
}

TEST_CASE("a tuner goes on from what was kept, and refuses what is no settings") {
  Tuner one(both(), 1, PeerId(4));
  one.meet({3, 2}, 1.0, 0.0);
  Archive out;
  out("tuner", one);
  Tuner two(both(), 1, PeerId(4));
  Archive in(out.json(), out.arrays());
  in("tuner", two);
  CHECK(two.choice() == one.choice());
  for (int i = 0; i < 20; ++i) {
    CHECK(one.meet({i % 5, 1}, 1.0, 0.9) == two.meet({i % 5, 1}, 1.0, 0.9));
    CHECK(one.choice() == two.choice());
  }
  for (const double wrong : {0.0, 290.0, 3.5}) {
    Archive::Json json = out.json();
    json["tuner"]["choice"] = wrong;
    Archive bad(json, out.arrays());
    CHECK_THROWS_AS(bad("tuner", two), ArchiveFault);
  }
}

}  // namespace hearsay::gossip
