// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/line_file.hpp"

#include "kernels/core/errc.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE("lines are there again, and a last one without its end is cut off") {
  const TempDir dir;
  const std::string path = dir.file("lines");
  {
    LineFile file(path);
    CHECK(file.lines().empty());
    file.append("one");
    file.append("two 2");
    CHECK(read_text(path) == "one\ntwo 2\n");
  }
  write_text(path, "one\ntwo 2\nthr");
  LineFile file(path);
  REQUIRE(file.lines().size() == 2);
  CHECK(file.lines()[1] == "two 2");
  file.append("three");
  CHECK(read_text(path) == "one\ntwo 2\nthree\n");
}

TEST_CASE("a second writer is refused, and changes nothing") {
  const TempDir dir;
  const std::string path = dir.file("lines");
  {
    LineFile first(path);
    first.append("one");
    write_text(path, "one\nhalf");  // as while the first one writes
    CHECK_THROWS_WITH(LineFile(path), Catch::Contains("another process is writing it"));
    CHECK(read_text(path) == "one\nhalf");
  }
  CHECK(LineFile(path).lines().size() == 1);
}

TEST_CASE("a file that cannot be opened is said with its path") {
  const TempDir dir;
  CHECK_THROWS_AS(LineFile(dir.file("absent/lines")), hearsay::kernels::Fault);
}
