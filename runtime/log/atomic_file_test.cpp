// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/atomic_file.hpp"

#include <csignal>

#include "kernels/core/errc.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::ExitCode;
using hearsay::kernels::Fault;

namespace {

// 0 when writing `bytes` to `path` is refused as promised, with `reason` in the line.
int refused(const std::string& path, const std::string& bytes, const std::string& reason) {
  try {
    write_file_atomically(path, bytes);
    return 1;
  } catch (const Fault& fault) {
    const std::string line = fault.what();
    if (fault.code() != ExitCode::check_failed) return 2;
    return line.find(path) == 0 && line.find(reason) != std::string::npos ? 0 : 3;
  }
}

}  // namespace

TEST_CASE("a file is made and replaced whole", "[log]") {
  TempDir dir;
  const std::string path = dir.file("result.json");
  write_file_atomically(path, "first");
  CHECK(read_text(path) == "first");
  write_file_atomically(path, std::string(100'000, 'x'));
  CHECK(read_text(path) == std::string(100'000, 'x'));
  const std::string_view pieces[] = {"a", "", "bc"};
  write_file_atomically(path, pieces);
  CHECK(read_text(path) == "abc");
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("a file size limit leaves the old file and no temporary", "[log]") {
  TempDir dir;
  const std::string path = dir.file("result.json");
  write_file_atomically(path, "old");
  CHECK(run_with_file_limit(
            1000, [&] { return refused(path, std::string(5000, 'x'), "File too large"); }) == 0);
  CHECK(read_text(path) == "old");
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("a missing folder and an unfit target are named", "[log]") {
  TempDir dir;
  CHECK(refused(dir.file("no/such/file"), "x", "No such file or directory") == 0);
  std::filesystem::create_directory(dir.file("folder"));
  CHECK(refused(dir.file("folder"), "x", "Is a directory") == 0);
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("a temporary that a killed writer left is taken over", "[log]") {
  TempDir dir;
  write_text(dir.file(".result.json.tmp"), std::string(5000, 'z'));
  write_file_atomically(dir.file("result.json"), "new");
  CHECK(read_text(dir.file("result.json")) == "new");
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("killed at any moment, a writer leaves one of the whole versions", "[log]") {
  TempDir dir;
  const std::string path = dir.file("state.json");
  write_file_atomically(path, std::string(20'000, 'a'));
  for (int round = 0; round < 30; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (char c = 'a';; c = c == 'z' ? 'a' : static_cast<char>(c + 1)) {
        write_file_atomically(path, std::string(20'000, c));
      }
    }
    ::usleep(static_cast<useconds_t>(500 + 331 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string text = read_text(path);
    REQUIRE(text.size() == 20'000);
    REQUIRE(text == std::string(20'000, text[0]));
  }
  write_file_atomically(path, "last");
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("two writers of one file take turns", "[log]") {
  TempDir dir;
  const std::string path = dir.file("shared.json");
  const auto write_many = [&](char c) {
    for (int i = 0; i < 100; ++i) write_file_atomically(path, std::string(50'000, c));
  };
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      write_many('a');
      code = 0;
    } catch (const Fault&) {
    }
    ::_exit(code);
  }
  CHECK_NOTHROW(write_many('b'));
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  const std::string text = read_text(path);
  CHECK(text == std::string(50'000, text.at(0)));
  CHECK(entries(dir.path()) == 1);
}
