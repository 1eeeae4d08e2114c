// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/run_folder.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "kernels/core/errc.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
namespace fs = std::filesystem;

namespace {

using State = PeerStatus::State;

void append(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::app) << text;
}

std::string header(const std::string& peer, int pid = 0) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return R"({"ev":"run.started","schema":1,"run":"r","clock":"monotonic","peers":2,"self":")" +
         peer + R"(","host":")" + host.data() + R"(","pid":)" + std::to_string(pid) + "}\n" +
         R"({"ev":"peer.joined","t_ns":0,"peer":")" + peer + R"(","n":0,"steps":10})" + "\n";
}

std::string block(const std::string& peer, int samples) {
  return R"({"ev":"block.finished","t_ns":5000,"peer":")" + peer + R"(","n":1,"samples":)" +
         std::to_string(samples) + R"(,"steps":5,"loss":0.5,"step_ns":1000})" + "\n";
}

struct Run {
  Run() { fs::create_directories(folder.file("run")); }
  std::string file(const std::string& name) const { return folder.file("run") + "/" + name; }
  std::string log(const std::string& peer) const { return file("peers/" + peer + "/events.jsonl"); }
  TempDir folder;
};

const std::string kRunJson =
    R"({"clock":"monotonic","config":{"epochs":{"value":"4"},"min-peers":{"value":"2"}}})";

}  // namespace

TEST_CASE("a live run is followed from before its first line to its result", "[watch]") {
  Run run;
  WatchedPool pool;
  append(run.file("run.json"), kRunJson);
  RunFolder folder(run.file(""), pool);
  CHECK_FALSE(folder.look());
  CHECK(pool.trouble.find("no log yet") != std::string::npos);
  CHECK(pool.snapshot.min_peers == 2);
  append(run.log("p00"), header("p00") + block("p00", 160));
  folder.look();
  CHECK(pool.trouble.empty());
  REQUIRE(pool.snapshot.peers.size() == 2);
  CHECK(pool.snapshot.peers[0].status.samples == 160);
  CHECK(pool.snapshot.peers[0].status.epochs == 2.0);
  append(run.log("p01"), header("p01") + block("p01", 320).substr(0, 20));
  folder.look();
  CHECK(pool.snapshot.peers[1].status.samples == 0);
  append(run.log("p01"), block("p01", 320).substr(20));
  folder.look();
  CHECK(pool.snapshot.peers[1].status.samples == 320);
  CHECK(pool.verdict.empty());
  append(run.file("result.json"), R"({"verdict":"ok","per_peer":[
    {"peer":"p00","alive":true,"reason":"finished","samples":999,"merges":5,"test_acc":0.75},
    {"peer":"p01","alive":false,"reason":"killed by SIGKILL"}]})");
  folder.look();
  CHECK(pool.verdict == "ok");
  CHECK(pool.snapshot.peers[0].status.samples == 999);
  CHECK(pool.snapshot.peers[0].status.accuracy == 0.75);
  CHECK(pool.snapshot.peers[0].status.state == State::ended);
  CHECK(pool.snapshot.peers[1].ended == "killed by SIGKILL");
  CHECK(pool.snapshot.now.live == 1);
}

TEST_CASE("a result that is older than the logs belongs to an earlier part of the run", "[watch]") {
  Run run;
  WatchedPool pool;
  append(run.file("run.json"), kRunJson);
  append(run.log("p00"), header("p00"));
  append(run.file("result.json"), R"({"verdict":"interrupted"})");
  RunFolder folder(run.file(""), pool);
  folder.look();
  CHECK(pool.verdict == "interrupted");
  append(run.log("p00"), header("p00") + block("p00", 160));
  fs::last_write_time(run.file("result.json"),
                      fs::last_write_time(run.log("p00")) - std::chrono::seconds(2));
  folder.look();
  CHECK(pool.verdict.empty());
  CHECK(pool.snapshot.peers[0].status.state == State::training);
}

TEST_CASE("a peer whose log is replaced begins anew", "[watch]") {
  Run run;
  WatchedPool pool;
  append(run.log("p00"), header("p00") + block("p00", 160) + block("p00", 320));
  RunFolder folder(run.file(""), pool);
  folder.look();
  CHECK(pool.snapshot.peers[0].status.progress == 1.0);
  append(run.file("new"), header("p00") + block("p00", 32));
  fs::rename(run.file("new"), run.log("p00"));
  folder.look();
  CHECK(pool.snapshot.peers[0].status.samples == 32);
  CHECK(pool.snapshot.peers[0].status.progress == 0.5);
}

TEST_CASE("a process that is gone without a goodbye is lost", "[watch]") {
  Run run;
  WatchedPool pool;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  append(run.log("p00"), header("p00", static_cast<int>(getpid())));
  append(run.log("p01"), header("p01", static_cast<int>(child)));
  RunFolder folder(run.file(""), pool);
  folder.look();
  folder.look();
  CHECK(pool.snapshot.peers[1].status.state == State::training);  // a zombie is still there
  REQUIRE(waitpid(child, nullptr, 0) == child);
  folder.look();
  CHECK(pool.snapshot.peers[1].status.state == State::lost);
  CHECK(pool.snapshot.peers[1].ended == "its process is gone");
  CHECK(pool.snapshot.peers[0].status.state == State::training);
}

TEST_CASE("a simulation's run is its one log", "[watch]") {
  Run run;
  WatchedPool pool;
  append(run.file("run.json"), R"({"clock":"virtual","config":{}})");
  RunFolder folder(run.file(""), pool);
  folder.look();
  CHECK(pool.snapshot.peers.empty());
  append(run.file("events.jsonl"), R"({"ev":"run.started","run":"r","clock":"virtual","peers":2})"
                                   "\n" +
                                       block("p01", 160) + "torn");
  folder.look();
  CHECK(pool.has_virtual_clock);
  CHECK(pool.snapshot.peers.at(1).status.samples == 160);
  append(run.file("events.jsonl"), " line\n");
  folder.look();
  CHECK(pool.trouble == "1 lines of the logs cannot be read");
}

TEST_CASE("what is no run is refused, and latest is what it points to", "[watch]") {
  Run run;
  WatchedPool pool;
  CHECK_THROWS_AS(RunFolder(run.file(""), pool), hearsay::kernels::UsageError);
  CHECK_THROWS_AS(RunFolder(run.file("nowhere"), pool), hearsay::kernels::UsageError);
  append(run.file("run.json"), kRunJson);
  CHECK_THROWS_AS(RunFolder(run.file("run.json"), pool), hearsay::kernels::UsageError);
  fs::create_directory_symlink("run", run.folder.file("latest"));
  CHECK(RunFolder(run.folder.file("latest"), pool).name() == run.folder.file("run"));
}
