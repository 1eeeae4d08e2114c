// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/run_dir.hpp"

#include <cstdlib>
#include <ctime>

#include "kernels/core/errc.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::UsageError;

namespace {

const auto kNow = std::chrono::system_clock::from_time_t(1'767'348'900);  // 2026-01-02 10:15:00 UTC

std::string usage_line(const auto& body) {
  try {
    body();
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

std::string link_target(const std::string& path) {
  return std::filesystem::read_symlink(path).string();
}

}  // namespace

TEST_CASE("a run directory is made once and knows its files", "[log]") {
  TempDir dir;
  const std::string path = dir.file("runs/a");
  const RunDir run = RunDir::create(path + "/");
  CHECK(run.path() == path);
  CHECK(run.run_json() == path + "/run.json");
  CHECK(run.result_json() == path + "/result.json");
  CHECK(run.events_jsonl() == path + "/events.jsonl");
  CHECK(run.exported_model() == path + "/export/model.safetensors");
  CHECK_FALSE(std::filesystem::exists(path + "/export"));
  CHECK(run.prepare_exported_model() == run.exported_model());
  CHECK(run.prepare_exported_model() == run.exported_model());
  CHECK(std::filesystem::is_directory(path + "/export"));
  CHECK(usage_line([&] { RunDir::create(path); }) ==
        "run directory " + path + " exists; choose another --run or remove it");
  CHECK(RunDir::open(path + "/").path() == path);
  CHECK_THROWS_AS(RunDir::open(path + "/absent"), UsageError);
  CHECK_THROWS_AS(RunDir::create(""), UsageError);
}

TEST_CASE("a run knows its name and each peer's files", "[log]") {
  TempDir dir;
  const RunDir run = RunDir::create(dir.file("runs/a/"));
  CHECK(run.name() == "a");
  const std::string peer = run.path() + "/peers/p03";
  CHECK(run.peer_dir("p03") == peer);
  CHECK(run.peer_endpoint("p03") == peer + "/endpoint.json");
  CHECK(run.peer_events("p03") == peer + "/events.jsonl");
  CHECK(run.peer_stderr("p03") == peer + "/stderr.log");
  CHECK(run.peer_result("p03") == peer + "/result.json");
  CHECK(run.peer_checkpoints("p03") == peer + "/ckpt");
  CHECK_FALSE(std::filesystem::exists(peer));
  CHECK(run.prepare_peer_dir("p03") == peer);
  CHECK(run.prepare_peer_dir("p03") == peer);
  CHECK(std::filesystem::is_directory(peer));
  write_text(run.path() + "/peers/p04", "in the way");
  CHECK_THROWS_AS(run.prepare_peer_dir("p04"), UsageError);
}

TEST_CASE("latest points to the newest run beside it", "[log]") {
  TempDir dir;
  RunDir::create(dir.file("runs/a"));
  CHECK(link_target(dir.file("runs/latest")) == "a");
  RunDir::create(dir.file("runs/b"));
  CHECK(link_target(dir.file("runs/latest")) == "b");
  CHECK_THROWS_AS(RunDir::create(dir.file("runs/latest")), UsageError);
  CHECK(RunDir::open(dir.file("runs/latest")).path() == dir.file("runs/b"));
  std::filesystem::remove_all(dir.file("runs/b"));
  CHECK_THROWS_AS(RunDir::create(dir.file("runs/latest")),
                  UsageError);            // a dangling link is still a taken name
  CHECK(entries(dir.file("runs")) == 2);  // a, latest
}

TEST_CASE("a file of somebody's own named latest is left alone", "[log]") {
  TempDir dir;
  write_text(dir.file("latest"), "mine");
  RunDir::create(dir.file("a"));
  CHECK(read_text(dir.file("latest")) == "mine");
}

TEST_CASE("a run without a folder around it makes no link", "[log]") {
  TempDir dir;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  RunDir::create("a");
  RunDir::create("./b");
  std::filesystem::current_path(before);
  CHECK(std::filesystem::is_directory(dir.file("a")));
  CHECK(entries(dir.path()) == 2);
}

TEST_CASE("default names carry preset, seed and local time, and count up", "[log]") {
  TempDir dir;
  ::setenv("TZ", "UTC0", 1);
  ::tzset();
  CHECK(default_run_name("digits", 7, kNow) == "digits-s7-20260102-101500");
  ::setenv("TZ", "XYZ-2", 1);
  ::tzset();
  CHECK(default_run_name("digits", 7, kNow) == "digits-s7-20260102-121500");
  ::unsetenv("TZ");
  ::tzset();
  const std::string first = dir.file("runs/") + default_run_name("digits", 7, kNow);
  CHECK(RunDir::create_default(dir.file("runs"), "digits", 7, kNow).path() == first);
  CHECK(RunDir::create_default(dir.file("runs"), "digits", 7, kNow).path() == first + "-2");
  CHECK(RunDir::create_default(dir.file("runs"), "digits", 7, kNow).path() == first + "-3");
}

TEST_CASE("a parent that cannot hold a run is named with its reason", "[log]") {
  TempDir dir;
  write_text(dir.file("file"), "x");
  CHECK(usage_line([&] { RunDir::create(dir.file("file/run")); }).find("Not a directory") !=
        std::string::npos);
  CHECK(usage_line([&] {
          RunDir::create_default(dir.file("file"), "digits", 0, kNow);
        }).find("Not a directory") != std::string::npos);
  CHECK(usage_line([&] { RunDir::create("/proc/hearsay/run"); }).find("No such file") !=
        std::string::npos);
  if (::geteuid() == 0) return;  // root may write anywhere
  std::filesystem::create_directory(dir.file("locked"));
  std::filesystem::permissions(dir.file("locked"), std::filesystem::perms::owner_read);
  CHECK(usage_line([&] { RunDir::create(dir.file("locked/run")); }).find("Permission denied") !=
        std::string::npos);
}
