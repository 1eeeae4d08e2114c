// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/event_reader.hpp"

#include "kernels/core/errc.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::gossip::Event;
using hearsay::kernels::DamagedFile;
using hearsay::kernels::Fault;
using hearsay::kernels::Rng;
using hearsay::kernels::UsageError;

namespace {

const std::string kHeader = R"({"ev":"run.started","schema":1,"run":"x","clock":"virtual"})"
                            "\n";
const std::string kFirst =
    R"({"ev":"block.finished","t_ns":5,"peer":"p00","n":0,"loss":0.5,"news":[1]})"
    "\n";
const std::string kSecond = R"({"ev":"run.finished","t_ns":9,"peer":"p00","n":1,"verdict":"ok"})"
                            "\n";

std::string damage_line(const std::string& path) {
  try {
    read_events(path);
  } catch (const DamagedFile& damage) {
    return damage.what();
  }
  return {};
}

}  // namespace

TEST_CASE("what the writer wrote is read back", "[log]") {
  TempDir dir;
  EventWriter writer(dir.path());
  writer.write_header(Event("run.started")
                          .add("run", std::string("a \"b\"\n"))
                          .add("clock", std::string("virtual")));
  writer.write(std::chrono::nanoseconds(-3), "p01",
               Event("x.y")
                   .add("z", 0.1)
                   .add("a", std::int64_t{-4})
                   .add("list", std::vector<std::int64_t>{1, 2}));
  writer.close();
  const EventLog log = read_events(writer.path());
  CHECK(log.header["run"] == "a \"b\"\n");
  CHECK(log.virtual_clock());
  CHECK_FALSE(log.truncated);
  REQUIRE(log.events.size() == 1);
  const LoggedEvent& event = log.events[0];
  CHECK((event.ev == "x.y" && event.t_ns == -3 && event.peer == "p01" && event.n == 0));
  CHECK(event.fields.dump() == R"({"z":0.1,"a":-4,"list":[1,2]})");
}

TEST_CASE("a log cut at any byte keeps its whole lines", "[log]") {
  TempDir dir;
  const std::string path = dir.file("events.jsonl");
  const std::string text = kHeader + kFirst + kSecond;
  for (std::size_t length = 0; length <= text.size(); ++length) {
    CAPTURE(length);
    write_text(path, text.substr(0, length));
    if (length < kHeader.size() - 1) {
      REQUIRE(damage_line(path) == path + ": offset 0: there is no whole header line");
      continue;
    }
    const EventLog log = read_events(path);
    const std::size_t two = kHeader.size() + kFirst.size();
    REQUIRE(log.events.size() == (length >= text.size() - 1 ? 2 : length >= two - 1 ? 1 : 0));
    const bool is_torn =
        (length > kHeader.size() && length < two - 1) || (length > two && length < text.size() - 1);
    REQUIRE(log.truncated == is_torn);
    if (is_torn) REQUIRE(log.truncated_at_bytes == (length < two ? kHeader.size() : two));
  }
}

TEST_CASE("a malformed line in the middle is named by file and offset", "[log]") {
  TempDir dir;
  const std::string path = dir.file("events.jsonl");
  const auto start = std::to_string(kHeader.size());
  write_text(path, kHeader + "{\"ev\":\n" + kSecond);
  CHECK(damage_line(path).find(path + ": offset ") == 0);
  CHECK(damage_line(path).find("not JSON") != std::string::npos);
  write_text(path, kHeader + "[]\n" + kSecond);
  CHECK(damage_line(path) == path + ": offset " + start + ": this line is not a JSON object");
  write_text(path, kHeader +
                       R"({"ev":"a.b","peer":"p00","n":0})"
                       "\n" +
                       kSecond);
  CHECK(damage_line(path) == path + ": offset " + start + ": this line has no key 't_ns'");
  write_text(path, kHeader + R"({"ev":"a.b","t_ns":1.5,"peer":"p00","n":0})"
                             "\n");
  CHECK(damage_line(path) == path + ": offset " + start + ": 't_ns' is not an integer");
  write_text(path, kHeader + R"({"ev":"a.b","t_ns":99999999999999999999999,"peer":"p00","n":0})"
                             "\n");
  CHECK_FALSE(damage_line(path).empty());
  write_text(path, kHeader + R"({"ev":"a.b","t_ns":1,"peer":"p00","n":-1})"
                             "\n");
  CHECK(damage_line(path) == path + ": offset " + start + ": 'n' is not a whole number");
  write_text(path, kFirst);
  CHECK(damage_line(path) == path + ": offset 0: the first line is not run.started");
}

TEST_CASE("a newer schema and a missing file are refused in plain words", "[log]") {
  TempDir dir;
  const std::string path = dir.file("events.jsonl");
  CHECK_THROWS_AS(read_events(path), UsageError);
  write_text(path, R"({"ev":"run.started","schema":2})"
                   "\n");
  CHECK_THROWS_AS(read_events(path), UsageError);
}

TEST_CASE("a mutated log is read or refused, never worse", "[log]") {
  TempDir dir;
  const std::string path = dir.file("events.jsonl");
  const std::string text = kHeader + kFirst + kSecond;
  Rng rng = Rng::stream(5, "log fuzz");  // seed 5
  for (int round = 0; round < 3000; ++round) {
    std::string mutated = text;
    for (std::uint32_t i = 0; i <= rng.below(3); ++i) {
      mutated[rng.below(static_cast<std::uint32_t>(text.size()))] =
          static_cast<char>(rng.below(256));
    }
    write_text(path, mutated);
    CAPTURE(round);
    std::string line = path;
    try {
      read_events(path);
    } catch (const Fault& fault) {
      line = fault.what();
    }
    REQUIRE(line.find(path) != std::string::npos);
  }
}
