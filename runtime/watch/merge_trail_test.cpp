// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/merge_trail.hpp"

#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

SeenMerge merge_at(double at_s, const std::string& into = "p00") {
  return {into, "p01", 0.5, at_s};
}

}  // namespace

TEST_CASE("logs that are read one after the other still give merges in order", "[watch]") {
  MergeTrail trail;
  for (int i = 0; i < 2000; ++i) trail.add(merge_at(i, "p00"));
  for (int i = 0; i < 2000; ++i) trail.add(merge_at(i + 0.5, "p01"));
  REQUIRE(trail.merges().size() == MergeTrail::kMost);
  for (std::size_t i = 1; i < trail.merges().size(); ++i)
    REQUIRE(trail.merges()[i - 1].at_s < trail.merges()[i].at_s);
  CHECK(trail.merges().back().at_s == 1999.5);
  CHECK(trail.merges().front().at_s == 1488.0);
}

TEST_CASE("lately is ten seconds, or a hundred merges where those were fewer", "[watch]") {
  MergeTrail trail;
  CHECK(trail.lately(5.0).merges.empty());
  for (int i = 0; i < 50; ++i) trail.add(merge_at(i));
  CHECK(trail.lately(60.0).merges.size() == 50);
  CHECK(trail.lately(60.0).span_s == 60.0);
  for (int i = 0; i < 400; ++i) trail.add(merge_at(60.0 + i * 0.05));  // up to 79.95
  const MergeTrail::Window window = trail.lately(80.0);
  CHECK(window.merges.size() == 200);
  CHECK(window.merges.front().at_s == Approx(70.0));
  CHECK(window.span_s == Approx(10.0));
  CHECK(trail.lately(1000.0).merges.size() == MergeTrail::kFewest);
}
