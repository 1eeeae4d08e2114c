// SPDX-License-Identifier: Apache-2.0
#include "merge/snapshot.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace hearsay;

namespace {

struct FakeCopy final : merge::DeviceCopy {
  std::size_t size() const override { return values.size(); }
  std::span<const float> host() override {
    ++asked;
    return values;
  }
  std::vector<float> values{1.0f, 2.0f, 3.0f};
  int asked = 0;
};

}  // namespace

TEST_CASE(
    "values that only a device has are asked for when somebody wants them, not for their size") {
  const auto copy = std::make_shared<FakeCopy>();
  merge::Snapshot snapshot;
  snapshot.on_device = copy;
  CHECK(snapshot.size() == 3);
  CHECK(copy->asked == 0);
  CHECK(snapshot.span()[2] == 3.0f);
  CHECK(copy->asked == 1);
}

TEST_CASE("a copy on a device changes nothing about values in host memory") {
  const auto copy = std::make_shared<FakeCopy>();
  merge::Snapshot snapshot;
  CHECK((snapshot.size() == 0 && snapshot.span().empty()));
  snapshot.values = kernels::Buffer<float>(2);
  snapshot.values[1] = 7.0f;
  snapshot.on_device = copy;
  CHECK(snapshot.size() == 2);
  CHECK(snapshot.span()[1] == 7.0f);
  CHECK(copy->asked == 0);
}
