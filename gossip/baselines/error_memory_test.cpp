// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/error_memory.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using Kind = FeedbackSettings::Kind;

namespace {

constexpr std::size_t kSize = 40, kKept = 4;

std::vector<float> normals(hearsay::kernels::Rng& rng) {
  std::vector<float> x(kSize);
  for (float& each : x) each = static_cast<float>(rng.normal());
  return x;
}

// The kKept largest, rounded to halves.
std::vector<float> coarse(std::span<const float> p) {
  std::vector<float> sizes(p.size());
  std::transform(p.begin(), p.end(), sizes.begin(), [](float each) { return std::fabs(each); });
  std::nth_element(sizes.begin(), sizes.begin() + kKept, sizes.end(), std::greater<>());
  std::vector<float> c(p.size());
  for (std::size_t i = 0; i < p.size(); ++i)
    c[i] = std::fabs(p[i]) > sizes[kKept] ? std::round(2.0f * p[i]) / 2.0f : 0.0f;
  return c;
}

}  // namespace

TEST_CASE("what error feedback has said and what it still holds is all that there was") {
  ErrorMemory memory({Kind::ef, 0.0, 0.0}, 4);
  auto rng = hearsay::kernels::Rng::stream(3, "error-memory");
  std::vector<double> there(kSize), said(kSize);
  for (int round = 0; round < 200; ++round) {
    const auto x = normals(rng);
    for (std::size_t i = 0; i < kSize; ++i) there[i] += x[i];
    const auto c = coarse(memory.to_say(x, 1.0));
    memory.said(c);
    memory.keep();
    for (std::size_t i = 0; i < kSize; ++i) said[i] += c[i];
  }
  for (std::size_t i = 0; i < kSize; ++i)
    CHECK(said[i] + double(memory.memory()[i]) == Approx(there[i]).margin(1e-4));
}

TEST_CASE("ef21 comes to hold what stays the same, from changes that leave most out") {
  ErrorMemory memory({Kind::ef21, 0.0, 0.0}, 4);
  auto rng = hearsay::kernels::Rng::stream(4, "error-memory");
  const auto x = normals(rng);
  CHECK(memory.says_changes());
  for (int round = 0; round < 60; ++round) {
    memory.said(coarse(memory.to_say(x, 1.0)));
    memory.keep();
  }
  for (std::size_t i = 0; i < kSize; ++i) CHECK(std::fabs(memory.memory()[i] - x[i]) <= 0.25f);
}

TEST_CASE("momentum correction says, late, what momentum of all would have said at once") {
  // One weight that is said every time and one that never is: both add up v = sum of u.
  ErrorMemory memory({Kind::dgc, 0.5, 0.0}, 1);
  const std::vector<float> x{1.0f, 1.0f};
  double v = 0.0, u = 0.0;
  for (int round = 0; round < 6; ++round) {
    const auto p = memory.to_say(x, 1.0);
    u = 0.5 * u + 1.0;
    v += u;
    CHECK(p[0] == 1.0f);  // its momentum begins again once it is said
    CHECK(double(p[1]) == Approx(v));
    memory.said(std::vector<float>{p[0], 0.0f});
    memory.keep();
  }
  CHECK(memory.memory()[0] == 0.0f);
}

TEST_CASE("momentum correction clips each peer to its share of the pool's norm") {
  const auto said = [](float x, double weight) {
    ErrorMemory memory({Kind::dgc, 0.0, 2.0}, 9);
    return memory.to_say(std::vector<float>{x, 0.0f}, weight)[0];
  };
  CHECK(said(5.0f, 1.0) == 5.0f);
  CHECK(said(8.0f, 1.0) == Approx(6.0f));  // 2 sqrt(9)
  CHECK(said(-80.0f, 10.0) == Approx(-60.0f));
}

TEST_CASE("a round that was cut off leaves the memory as it was") {
  const Kind kind = GENERATE(Kind::ef, Kind::ef21, Kind::dgc);
  ErrorMemory memory({kind, 0.9, 0.0}, 4);
  auto rng = hearsay::kernels::Rng::stream(5, "error-memory");
  const auto first = normals(rng), second = normals(rng);
  memory.said(coarse(memory.to_say(first, 1.0)));
  memory.keep();
  const auto say = [&] {
    const auto p = memory.to_say(second, 1.0);
    return std::vector<float>(p.begin(), p.end());
  };
  const auto once = say();
  memory.said(coarse(once));
  CHECK(say() == once);
}
