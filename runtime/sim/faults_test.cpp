// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/faults.hpp"

#include "kernels/core/errc.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::PeerId;
using namespace std::chrono_literals;

TEST_CASE("faults begin and end at their share of progress or second") {
  FaultSchedule schedule(
      parse_faults({"stall=p02@10%..20%", "partition=p01@5s", "slow=p00*4", "drop=50%"}, 4, 1), 4,
      1);
  auto changes = schedule.advance(0.0, 0s);
  REQUIRE(changes.size() == 2);  // slow and drop hold from the start
  CHECK(changes[0].fault->factor == 4.0);
  CHECK_FALSE(schedule.stalled(PeerId(2)));
  changes = schedule.advance(0.1, 1s);
  CHECK(schedule.stalled(PeerId(2)));
  CHECK(schedule.never_fired() == std::vector<std::string>{"partition=p01@5s"});
  schedule.advance(0.2, 5s);
  CHECK_FALSE(schedule.stalled(PeerId(2)));
  for (int i = 0; i < 20; ++i) CHECK(schedule.loses(PeerId(1), PeerId(3)));
  int lost = 0;
  for (int i = 0; i < 1000; ++i) lost += schedule.loses(PeerId(0), PeerId(3));
  CHECK(lost == Approx(500).margin(80));
  CHECK(schedule.never_fired().empty());
  CHECK(schedule.wake_up_times() == std::vector<hearsay::gossip::Time>{5s});
}

TEST_CASE("counted kills draw that many different peers from the seed") {
  const auto draw = [](std::uint64_t seed) {
    return parse_faults({"kill=3@30%"}, 8, seed).front().peers;
  };
  CHECK(draw(1).size() == 3);
  CHECK(draw(1) == draw(1));
  CHECK(draw(1) != draw(2));
  const auto both = parse_faults({"kill=3@30%", "kill=5@60%"}, 8, 1);
  for (const PeerId first : both[0].peers) {
    for (const PeerId second : both[1].peers) CHECK(first != second);
  }
  CHECK_THROWS_AS(parse_faults({"kill=4@30%", "kill=5@60%"}, 8, 1), hearsay::kernels::UsageError);
  CHECK(parse_faults({"kill=p07@30%"}, 8, 1).front().peers == std::vector<PeerId>{PeerId(7)});
}

TEST_CASE("what cannot be read is refused") {
  for (const char* bad : {"kill=p09@30%", "kill=9@30%", "kill=p01", "slow=p01", "slow=p01*0",
                          "slow=p01*x", "stall=p01@10%", "drop=200%", "boom=1", "kill=p01@20%..10%",
                          "", "kill=", "slow=*4", "partition=x@5s", "stall=p02@60%..20%"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_faults({bad}, 8, 1), hearsay::kernels::UsageError);
  }
}

TEST_CASE("frames are held back and doubled in their shares, by less than a second") {
  FaultSchedule calm(parse_faults({"slow=p00*2"}, 4, 1), 4, 1);
  calm.advance(0.0, 0s);
  FaultSchedule busy(parse_faults({"reorder=20%", "duplicate=30%"}, 4, 1), 4, 1);
  busy.advance(0.0, 0s);
  int late = 0, doubled = 0;
  for (int i = 0; i < 2000; ++i) {
    CHECK(calm.held_back() == 0s);
    CHECK_FALSE(calm.comes_again().has_value());
    const auto by = busy.held_back();
    late += by > 0s;
    CHECK((by >= 0s && by < FaultSchedule::kHeldBack));
    const auto again = busy.comes_again();
    doubled += again.has_value();
    if (again) CHECK((*again >= 0s && *again < FaultSchedule::kHeldBack));
    CHECK_FALSE(busy.loses(PeerId(0), PeerId(1)));
  }
  CHECK(late == Approx(400).margin(80));
  CHECK(doubled == Approx(600).margin(90));
  for (const char* bad : {"reorder=200%", "duplicate=x", "reorder="})
    CHECK_THROWS_AS(parse_faults({bad}, 4, 1), hearsay::kernels::UsageError);
}
