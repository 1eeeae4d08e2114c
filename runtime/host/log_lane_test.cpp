// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/log_lane.hpp"

#include "kernels/core/errc.hpp"
#include "runtime/log/event_reader.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::gossip::Event;

namespace {

Event numbered(std::int64_t i) {
  Event event("test.line");
  return std::move(event.add("i", i));
}

}  // namespace

TEST_CASE("the log lane writes every event once and in order, more than it may hold at once") {
  constexpr std::int64_t kEvents = 20'000;
  TempDir folder;
  EventWriter writer(folder.path());
  writer.write_header(Event("run.started"));
  {
    LogLane lane(writer);
    for (std::int64_t i = 0; i < kEvents; ++i)
      lane.write(std::chrono::nanoseconds(i), "p00", numbered(i));
    lane.close();
    CHECK_FALSE(lane.failure());
  }
  const EventLog log = read_events(writer.path());
  REQUIRE(log.events.size() == kEvents);
  for (std::int64_t i = 0; i < kEvents; ++i) {
    REQUIRE(log.events[i].fields["i"] == i);
    REQUIRE(log.events[i].n == static_cast<std::uint64_t>(i));
  }
}

TEST_CASE("a full disk is told, and whoever logs does not wait for ever") {
  TempDir folder;
  const int code = run_with_file_limit(64 * 1024, [&] {
    EventWriter writer(folder.path());
    writer.write_header(Event("run.started"));
    LogLane lane(writer);
    for (std::int64_t i = 0; i < 50'000; ++i)
      lane.write(std::chrono::nanoseconds(i), "p00", numbered(i));
    lane.close();
    return lane.failure() ? 0 : 1;
  });
  CHECK(code == 0);
  CHECK(read_events(folder.file("events.jsonl")).events.size() > 100);
}
