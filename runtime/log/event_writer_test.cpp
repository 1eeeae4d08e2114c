// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/event_writer.hpp"

#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using namespace std::chrono_literals;
using hearsay::gossip::Event;
using hearsay::kernels::ExitCode;
using hearsay::kernels::Fault;
using hearsay::kernels::UsageError;

namespace {

Event header() {
  return Event("run.started").add("run", std::string("digits-s7")).add("seed", std::int64_t{7});
}

Event sent(std::int64_t seq) {
  return Event("delta.sent").add("to", std::string("p05")).add("seq", seq).add("density", 0.01);
}

std::string fault_line(const auto& body) {
  try {
    body();
  } catch (const Fault& fault) {
    return fault.what();
  }
  return {};
}

// Writes lines until the file is refused; 0 when the Fault is as promised.
int write_until_refused(const std::string& folder) {
  EventWriter writer(folder);
  try {
    writer.write_header(header());
    for (std::int64_t i = 0; i < 100'000; ++i)
      writer.write(std::chrono::nanoseconds(i), "p03", sent(i));
    return 1;
  } catch (const Fault& fault) {
    const std::string line = fault.what();
    if (fault.code() != ExitCode::check_failed) return 2;
    if (line.find(writer.path()) == std::string::npos || line.find('\n') != std::string::npos)
      return 3;
    if (line.find("File too large") == std::string::npos) return 4;
    if (line.find(std::to_string(writer.written_bytes()) + " bytes") == std::string::npos) return 5;
  }
  try {
    writer.write(1s, "p03", sent(1));
    return 6;  // a writer that has failed must not go on quietly
  } catch (const Fault&) {
  }
  writer.close();
  return 0;
}

}  // namespace

TEST_CASE("event lines have a fixed key order and a counter per peer", "[log]") {
  TempDir dir;
  EventWriter writer(dir.path());
  writer.write_header(header());
  writer.write(41'200'000ns, "p03", sent(12));
  writer.write(41'200'001ns, "p05", Event("run.finished"));
  writer.write(41'200'002ns, "p03", sent(13));
  CHECK(read_text(writer.path()).empty());  // buffered
  writer.flush();
  const std::string text = read_text(writer.path());
  CHECK(
      text ==
      R"({"ev":"run.started","schema":1,"run":"digits-s7","seed":7})"
      "\n"
      R"({"ev":"delta.sent","t_ns":41200000,"peer":"p03","n":0,"to":"p05","seq":12,"density":0.01})"
      "\n"
      R"({"ev":"run.finished","t_ns":41200001,"peer":"p05","n":0})"
      "\n"
      R"({"ev":"delta.sent","t_ns":41200002,"peer":"p03","n":1,"to":"p05","seq":13,"density":0.01})"
      "\n");
  CHECK(writer.written_bytes() == text.size());
  writer.close();
  writer.close();
}

TEST_CASE("a forgotten close still leaves every line in the file", "[log]") {
  TempDir dir;
  { EventWriter(dir.path()).write_header(header()); }
  CHECK(read_text(dir.file("events.jsonl")).ends_with("}\n"));
}

TEST_CASE("an existing log is not written over", "[log]") {
  TempDir dir;
  write_text(dir.file("events.jsonl"), "{}\n");
  CHECK_THROWS_AS(EventWriter(dir.path()), UsageError);
  CHECK(read_text(dir.file("events.jsonl")) == "{}\n");
  CHECK_THROWS_AS(EventWriter(dir.file("missing")), UsageError);
}

TEST_CASE("a file size limit ends the log at a whole line", "[log]") {
  const std::size_t limit_bytes =
      GENERATE(std::size_t{0}, std::size_t{10}, std::size_t{1000}, std::size_t{65'536},
               std::size_t{100'000}, std::size_t{300'001});
  CAPTURE(limit_bytes);
  TempDir dir;
  CHECK(run_with_file_limit(limit_bytes, [&] { return write_until_refused(dir.path()); }) == 0);
  const std::string text = read_text(dir.file("events.jsonl"));
  CHECK(text.size() <= limit_bytes);
  CHECK(text.size() + 120 > limit_bytes);  // what fitted is kept
  CHECK((text.empty() || text.back() == '\n'));
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    REQUIRE(nlohmann::json::accept(text.substr(begin, end - begin)));
    begin = end + 1;
  }
}

TEST_CASE("a full device is named with what to try", "[log]") {
  if (!std::filesystem::exists("/dev/full")) return;
  TempDir dir;
  std::filesystem::create_symlink("/dev/full", dir.file("events.jsonl"));
  EventWriter writer(dir.path());
  writer.write_header(header());
  const std::string line = fault_line([&] { writer.close(); });
  CHECK(line.find("No space left on device after 0 bytes; free space") != std::string::npos);
  CHECK(fault_line([&] { writer.flush(); }) == line);
  writer.close();
}
