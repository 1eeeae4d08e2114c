// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/log_tail.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using Lines = std::vector<std::string>;

namespace {

struct Follower {
  explicit Follower(const std::string& path) : tail(path) {}
  bool read() {
    return tail.read(
        {[this] { ++restarts; }, [this](std::string_view line) { lines.emplace_back(line); }});
  }
  LogTail tail;
  Lines lines;
  int restarts = 0;
};

void append(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::app | std::ios::binary) << text;
}

}  // namespace

TEST_CASE("a file may come later and grow in the middle of a line", "[watch]") {
  TempDir folder;
  const std::string path = folder.file("log");
  Follower follower(path);
  CHECK_FALSE(follower.read());
  append(path, "one\ntw");
  follower.read();
  CHECK(follower.lines == Lines{"one"});
  append(path, "o\n\n");
  follower.read();
  CHECK(follower.lines == Lines{"one", "two", ""});
  CHECK(follower.restarts == 0);
}

TEST_CASE("cut at every byte, a file gives the same lines", "[watch]") {
  TempDir folder;
  const std::string text = "{\"a\":1}\n\nlonger line\nx\n\xff\xfe\n", whole = folder.file("whole");
  append(whole, text);
  Follower all(whole);
  all.read();
  REQUIRE(all.lines.size() == 5);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string path = folder.file("cut" + std::to_string(cut));
    Follower follower(path);
    append(path, text.substr(0, cut));
    follower.read();
    CHECK(follower.lines.size() ==
          static_cast<std::size_t>(std::count(text.begin(), text.begin() + cut, '\n')));
    append(path, text.substr(cut));
    follower.read();
    CHECK(follower.lines == all.lines);
  }
}

TEST_CASE("a file that is replaced or cut short begins anew", "[watch]") {
  TempDir folder;
  const std::string path = folder.file("log");
  append(path, "old 1\nold 2\nto");
  Follower follower(path);
  follower.read();
  SECTION("replaced") {
    append(folder.file("new"), "new 1\nnew 2 is longer than all that was there\n");
    std::filesystem::rename(folder.file("new"), path);
  }
  SECTION("cut short") { std::ofstream(path) << "new 1\n"; }
  follower.read();
  CHECK(follower.restarts == 1);
  REQUIRE(follower.lines.size() >= 3);
  CHECK(follower.lines[2] == "new 1");
}

TEST_CASE("a file that was deleted keeps what has been read", "[watch]") {
  TempDir folder;
  const std::string path = folder.file("log");
  append(path, "one\n");
  Follower follower(path);
  follower.read();
  std::filesystem::remove(path);
  CHECK_FALSE(follower.read());
  CHECK(follower.lines == Lines{"one"});
  CHECK(follower.restarts == 0);
}

TEST_CASE("a line without end costs no memory, and the one after it counts", "[watch]") {
  TempDir folder;
  const std::string path = folder.file("log");
  append(path, "one\n" + std::string(3 * LogTail::kMostLine, 'x'));
  Follower follower(path);
  while (follower.read()) continue;
  append(path, std::string(LogTail::kMostLine, 'x') + "\ntwo\n");
  while (follower.read()) continue;
  CHECK(follower.lines == Lines{"one", "two"});
}

TEST_CASE("a large file is read in portions, pieces as they come", "[watch]") {
  TempDir folder;
  const std::string path = folder.file("log");
  const auto seed = 20260104u;
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < 2 * LogTail::kMostBytes) text += std::string(random() % 300, 'a') + "\n";
  append(path, text);
  Follower follower(path);
  CHECK(follower.read());
  CHECK(follower.lines.size() <
        static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
  while (follower.read()) continue;
  std::string back;
  for (const std::string& line : follower.lines) back += line + "\n";
  CHECK(back == text);
}
