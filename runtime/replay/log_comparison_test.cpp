// SPDX-License-Identifier: Apache-2.0
#include "runtime/replay/log_comparison.hpp"

#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"

using hearsay::runtime::LogComparison;

namespace {

std::string line(const char* peer, int n, int value = 1) {
  return std::string(R"({"ev":"x","t_ns":5,"peer":")") + peer + R"(","n":)" + std::to_string(n) +
         R"(,"v":)" + std::to_string(value) + "}";
}

std::string logged(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / "hearsay-log-comparison.jsonl";
  std::ofstream(path, std::ios::binary) << "{\"ev\":\"run.started\"}\n" << text;
  return path.string();
}

}  // namespace

TEST_CASE("a log made again is equal line by line, whatever the order of peers") {
  LogComparison log(logged(line("p00", 0) + "\n" + line("p01", 0) + "\n" + line("p00", 1) + "\n"));
  CHECK(log.compare(line("p01", 0)));
  CHECK(log.compare(line("p00", 0)));
  CHECK(log.compare(line("p00", 1)));
  log.finish();
  CHECK(log.equal() == 3);
  CHECK(log.differences().empty());
  CHECK(log.damage().empty());
}

TEST_CASE("a line that differs is named, and what did not happen again is counted") {
  LogComparison log(logged(line("p00", 0) + "\n" + line("p00", 1) + "\n" + line("p00", 2) + "\n"));
  CHECK(log.compare(line("p00", 0)));
  CHECK_FALSE(log.compare(line("p00", 1, 7)));
  log.finish();
  REQUIRE(log.differences().size() == 2);
  CHECK(log.differences()[0] ==
        "p00, line 1: logged " + line("p00", 1) + ", now " + line("p00", 1, 7));
  CHECK(log.differences()[1] == "1 logged lines did not happen again, the first: p00, line 2");
}

TEST_CASE("lists that events have gained since a run was logged are no difference") {
  const std::string before = R"({"ev":"cluster.updated","t_ns":5,"peer":"p00","n":0,"round":1})";
  const std::string now =
      R"({"ev":"cluster.updated","t_ns":5,"peer":"p00","n":0,"round":1,"distances":[0,-1,7]})";
  CHECK(LogComparison(logged(before + "\n")).compare(now));
  CHECK(LogComparison(logged(now + "\n")).compare(now));
  std::string other = now;
  other.replace(other.find("-1"), 2, "90");
  CHECK_FALSE(LogComparison(logged(now + "\n")).compare(other));
}

TEST_CASE("holes, torn and foreign lines cost themselves alone") {
  LogComparison log(logged(line("p00", 0) + "\n\xff\xfe garbage\n" + line("p00", 2) + "\n" +
                           line("p00", 3).substr(0, 20)));
  for (int n = 0; n < 4; ++n) CHECK(log.compare(line("p00", n)));
  log.finish();
  CHECK(log.equal() == 2);
  CHECK(log.missing() == 2);
  CHECK(log.differences().empty());
  CHECK(log.damage().size() == 2);
  CHECK(LogComparison("/nowhere/events.jsonl").damage().size() == 1);
}
