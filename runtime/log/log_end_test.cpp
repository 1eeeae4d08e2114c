// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/log_end.hpp"

#include "kernels/core/errc.hpp"
#include "runtime/log/event_reader.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::gossip::Event;
using std::chrono::nanoseconds;

namespace {

std::string write_log(const TempDir& dir, int lines) {
  EventWriter writer(dir.path());
  writer.write_header(Event("run.started"));
  for (int i = 0; i < lines; ++i) {
    Event event("block.finished");
    writer.write(nanoseconds(100 * i), "p03", event.add("samples", std::int64_t{i}));
  }
  writer.close();
  return read_text(writer.path());
}

}  // namespace

TEST_CASE("a log cut at any byte goes on after its last whole line", "[log]") {
  const TempDir dir;
  const std::string path = dir.file("events.jsonl"), whole = write_log(dir, 5);
  const std::size_t header = whole.find('\n') + 1;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    CAPTURE(length);
    write_text(path, whole.substr(0, length));
    const auto tail = find_log_end(path, "p03");
    REQUIRE(tail.has_value() == (length >= header));
    if (!tail) continue;
    const std::size_t end = whole.rfind('\n', length - 1) + 1;
    REQUIRE(tail->position.bytes == end);
    EventWriter writer(dir.path(), tail->position);
    writer.write(tail->last_t, "p03", Event("run.resumed"));
    writer.close();
    const EventLog log = read_events(path);
    REQUIRE_FALSE(log.truncated);
    REQUIRE(log.events.back().ev == "run.resumed");
    REQUIRE(log.events.back().n == log.events.size() - 1);
    REQUIRE(log.events.back().t_ns ==
            (log.events.size() < 2 ? 0 : log.events[log.events.size() - 2].t_ns));
  }
}

TEST_CASE("what a machine without power left behind the last line is not counted", "[log]") {
  const TempDir dir;
  const std::string path = dir.file("events.jsonl"), whole = write_log(dir, 3000);
  for (const std::string& rest :
       {std::string(5000, '\0'), std::string("\n\n\n"), std::string("{}\n"),
        std::string("{\"ev\":\n"), std::string(200'000, 'x') + "\n" + std::string(70'000, 'y')}) {
    write_text(path, whole + rest);
    const auto tail = find_log_end(path, "p03");
    REQUIRE(tail);
    CHECK(tail->position.bytes == whole.size());
    CHECK(tail->position.next_n.at("p03") == 3000);
    CHECK(tail->last_t == nanoseconds(299'900));
  }
  write_text(path, whole + std::string(kMostTornBytes + 100'000, 'x'));
  CHECK_THROWS_AS(find_log_end(path, "p03"), hearsay::kernels::DamagedFile);
}

TEST_CASE("no log, another peer's log, and one that is not a log", "[log]") {
  const TempDir dir;
  const std::string path = dir.file("events.jsonl");
  CHECK_FALSE(find_log_end(path, "p03"));
  write_log(dir, 3);
  const auto header_only = find_log_end(path, "p04");
  REQUIRE(header_only);
  CHECK(header_only->position.next_n.empty());
  write_text(path, "no log\nat all\n");
  CHECK_FALSE(find_log_end(path, "p03"));
}

TEST_CASE("a log has one writer at a time", "[log]") {
  const TempDir dir;
  const std::string path = dir.file("events.jsonl");
  CHECK_FALSE(log_is_held(path));
  EventWriter writer(dir.path());
  writer.write_header(Event("run.started"));
  const LogPosition position = writer.synced_position();
  CHECK(log_is_held(path));
  CHECK_THROWS_AS(EventWriter(dir.path(), position), hearsay::kernels::UsageError);
  writer.close();
  CHECK_FALSE(log_is_held(path));
}

TEST_CASE("a position that the log does not have is damage", "[log]") {
  const TempDir dir;
  const std::string path = dir.file("events.jsonl"), whole = write_log(dir, 3);
  for (const std::size_t bytes : {whole.size() + 1, whole.size() - 1, std::size_t{5}}) {
    CHECK_THROWS_AS(EventWriter(dir.path(), LogPosition{bytes, {}}), hearsay::kernels::DamagedFile);
    CHECK(read_text(path) == whole);
  }
}
