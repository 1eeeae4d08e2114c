// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/training_clock.hpp"

#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE("samples grow evenly within a block and stand still between blocks", "[graph]") {
  TrainingClock clock;
  clock.begin(0, 0);
  clock.block_ends(100, 1000, 100);
  clock.block_ends(300, 3000, 100);  // it began at 200
  CHECK(clock.trained_at(-5) == 0);
  CHECK(clock.trained_at(50) == 500);
  CHECK(clock.trained_at(100) == 1000);
  CHECK(clock.trained_at(200) == 1000);
  CHECK(clock.trained_at(250) == 2000);
  CHECK(clock.trained_at(900) == 3000);
}

TEST_CASE("a block that never ended goes on at the rate of the one before", "[graph]") {
  TrainingClock clock;
  clock.begin(0, 0);
  clock.block_ends(100, 1000, 100);
  clock.block_begins(120);
  CHECK(clock.trained_at(110) == 1000);
  CHECK(clock.trained_at(130) == 1100);
}

TEST_CASE("a jump of the counter is no training", "[graph]") {
  TrainingClock clock;
  clock.begin(0, 0);
  clock.jump(50, 5000);
  clock.block_ends(150, 6000, 100);
  CHECK(clock.samples_at(49) == 0);
  CHECK(clock.samples_at(50) == 5000);
  CHECK(clock.samples_at(100) == 5500);
  CHECK(clock.trained_at(100) == 500);
}

TEST_CASE("a log that runs backwards breaks nothing", "[graph]") {
  TrainingClock clock;
  CHECK(clock.trained_at(7) == 0);
  clock.block_ends(100, 1000, 1'000'000);
  clock.block_ends(50, 400, -3);
  clock.block_ends(60, std::uint64_t{1} << 61, 10);
  CHECK(clock.trained_at(100) >= clock.trained_at(99));
  CHECK(clock.samples_at(1'000'000) == std::uint64_t{1} << 61);
}
