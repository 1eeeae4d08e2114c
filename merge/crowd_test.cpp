// SPDX-License-Identifier: Apache-2.0
#include "merge/crowd.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay;
using merge::CrowdRule;

namespace {

merge::SnapshotRef snapshot(const std::vector<float>& values) {
  auto made = std::make_shared<merge::Snapshot>();
  made->values = kernels::Buffer<float>(values.size());
  std::copy(values.begin(), values.end(), made->values.data());
  return made;
}

std::vector<float> center(const CrowdRule& rule, const std::vector<float>& own,
                          const std::vector<merge::SnapshotRef>& models) {
  std::vector<float> out(own.size());
  merge::crowd_center(rule, own, models, out);
  return out;
}

// Honest models lie within 0.1 of 1, two hostile ones far away.
struct Crowd {
  std::vector<float> own;
  std::vector<merge::SnapshotRef> models;
};
Crowd crowd(std::uint64_t seed, float hostile) {
  kernels::Rng rng = kernels::Rng::stream(seed, "crowd");
  const auto honest = [&] {
    std::vector<float> values(300);
    for (float& v : values) v = 1.0f + 0.1f * static_cast<float>(2.0 * rng.uniform() - 1.0);
    return values;
  };
  Crowd made{honest(), {}};
  for (int i = 0; i < 3; ++i) made.models.push_back(snapshot(honest()));
  for (int i = 0; i < 2; ++i) made.models.push_back(snapshot(std::vector<float>(300, hostile)));
  return made;
}

}  // namespace

TEST_CASE("two hostile models of five do not move the centre out of the honest ones") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const float hostile : {1e30f, -1e6f, 0.0f, 5.0f}) {
      const Crowd c = crowd(seed, hostile);
      for (const auto kind :
           {CrowdRule::Kind::median, CrowdRule::Kind::trimmed_mean, CrowdRule::Kind::krum}) {
        INFO("seed " << seed << ", hostile " << hostile << ", rule " << static_cast<int>(kind));
        for (const float v : center({kind, 5, 2}, c.own, c.models)) {
          REQUIRE(v >= 0.9f);
          REQUIRE(v <= 1.1f);
        }
      }
    }
  }
}

TEST_CASE("a plain mean would have been moved, so the test above can fail") {
  const Crowd c = crowd(0, 5.0f);
  CHECK(center({CrowdRule::Kind::trimmed_mean, 5, 0}, c.own, c.models)[0] > 2.0f);
}

TEST_CASE("krum tells a peer one model that it has been sent, never its own") {
  const std::vector<float> own(4, 0.0f);
  const auto near = snapshot({0.1f, 0.1f, 0.1f, 0.1f}), far = snapshot({9, 9, 9, 9});
  CHECK(center({CrowdRule::Kind::krum, 2, 0}, own, {far, near}) == std::vector<float>(4, 0.1f));
  CHECK(center({CrowdRule::Kind::krum, 1, 0}, own, {far}) == std::vector<float>(4, 9.0f));
}
