// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/pool_watch.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

#include "kernels/core/errc.hpp"
#include "runtime/launch/local_peer.hpp"
#include "runtime/launch/root_cause.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using namespace std::chrono_literals;

namespace {

constexpr Patience kShort{1500ms, 3000ms, 500ms, 1000ms, 500ms, 50ms};

class Recorder final : public PoolDisplay {
 public:
  void update(const std::vector<PeerView>& peers) override { last = peers; }
  void update_pool(const PoolNow& now) override { pool = now; }
  void notice(const std::string& text) override { notices.push_back(text); }
  bool has(const std::string& text) const {
    return std::find(notices.begin(), notices.end(), text) != notices.end();
  }
  std::vector<PeerView> last;
  PoolNow pool;
  std::vector<std::string> notices;
};

RunConfig config_of(std::uint32_t peers, std::vector<std::string> chaos = {}) {
  RunConfig config;
  config.peers = peers;
  config.epochs = 4;
  config.chaos = std::move(chaos);
  return config;
}

// A pool of fake peers in a run directory of its own.
struct Pool {
  TempDir folder;
  RunDir run = RunDir::create(folder.file("run"));
  Recorder display;

  std::unique_ptr<LocalPeer> start(std::uint32_t id, std::uint32_t peers,
                                   const std::vector<std::string>& words) {
    const std::string name = "p0" + std::to_string(id);
    run.prepare_peer_dir(name);
    ChildCommand command;
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    command.words = {(here / "fake_peer").string()};
    command.words.insert(command.words.end(), words.begin(), words.end());
    command.environment = {{"HEARSAY_PEER", std::to_string(id)},
                           {"HEARSAY_PEERS", std::to_string(peers)}};
    command.output_path = run.peer_stderr(name);
    return std::make_unique<LocalPeer>(name, command);
  }
  std::vector<std::unique_ptr<WatchedPeer>> start_all(std::uint32_t peers,
                                                      const std::vector<std::string>& words) {
    std::vector<std::unique_ptr<WatchedPeer>> all;
    for (std::uint32_t i = 0; i < peers; ++i) all.push_back(start(i, peers, words));
    return all;
  }
  PoolWatch watch(
      const RunConfig& config, const std::vector<std::string>& words = {},
      std::function<int()> stop_signal = [] { return 0; }) {
    return PoolWatch(config, start_all(config.peers, words), display, std::move(stop_signal),
                     kShort);
  }
};

const PeerEnding& ending_of(const PoolEnding& ending, const std::string& name) {
  return *std::find_if(ending.peers.begin(), ending.peers.end(),
                       [&](const PeerEnding& peer) { return peer.name == name; });
}

}  // namespace

TEST_CASE("four peers begin together and end by themselves", "[launch]") {
  Pool pool;
  PoolWatch watch = pool.watch(config_of(4));
  REQUIRE_FALSE(watch.gather());
  const PoolEnding ending = watch.watch(pool.run.path());
  CHECK(ending.peers.size() == 4);
  for (const PeerEnding& peer : ending.peers) CHECK_FALSE(peer.how);
  CHECK(ending.wall_s > 0.4);
  CHECK(watch.deaths().empty());
  CHECK(root_cause_table(pool.run, watch.deaths()).empty());
  CHECK(pool.display.pool.live == 4);
  for (const PeerView& view : pool.display.last) CHECK(view.ended == "finished");
}

TEST_CASE("chaos kills one peer and three go on", "[launch]") {
  Pool pool;
  PoolWatch watch = pool.watch(config_of(4, {"kill=p02@30%", "drop=5%", "slow=p01*2"}));
  REQUIRE_FALSE(watch.gather());
  const PoolEnding ending = watch.watch(pool.run.path());
  REQUIRE(ending_of(ending, "p02").how);
  CHECK(*ending_of(ending, "p02").how == "killed by SIGKILL");
  CHECK(ending.faults_never_fired.empty());
  CHECK(pool.display.has("p02 killed by SIGKILL; 3 go on"));
  CHECK(pool.display.has("p01 slower"));
  CHECK(pool.display.has("p03 drops"));
  REQUIRE(watch.deaths().size() == 1);
  const std::string table = root_cause_table(pool.run, watch.deaths());
  for (const std::string part : {"p02", "killed by SIGKILL", "block.finished at 1.5 s"})
    CHECK(table.find(part) != std::string::npos);
  CHECK(table.find(pool.run.peer_stderr("p02")) != std::string::npos);
}

TEST_CASE("peers that die are listed in the order of their deaths", "[launch]") {
  Pool pool;
  PoolWatch watch = pool.watch(config_of(3, {"kill=p00@80%"}), {"dies=1"});
  REQUIRE_FALSE(watch.gather());
  watch.watch(pool.run.path());
  REQUIRE(watch.deaths().size() == 2);
  CHECK(watch.deaths()[0].peer == "p01");
  CHECK(watch.deaths()[0].how == "exit code 3");
  CHECK(watch.deaths()[1].peer == "p00");
}

TEST_CASE("a peer that died is started again, late, in a later start", "[launch]") {
  Pool pool;
  RunConfig config = config_of(3);
  config.restarts = 2;
  PoolWatch watch = pool.watch(config, {"dies-once=1", "steps=100"});
  REQUIRE_FALSE(watch.gather());
  const PoolEnding ending = watch.watch(pool.run.path());
  CHECK(pool.display.has("p01 exit code 3; started again (1 of 2)"));
  CHECK_FALSE(pool.display.has("p01 exit code 3; 2 go on"));
  CHECK_FALSE(ending_of(ending, "p01").how);  // it was there at the end
  CHECK(pool.display.pool.live == 3);
  CHECK(read_text(pool.run.peer_dir("p01") + "/starts") == "0\n1 late\n");
  CHECK(read_text(pool.run.peer_dir("p00") + "/starts") == "0\n");
  REQUIRE(watch.deaths().size() == 1);
  const std::string table = root_cause_table(pool.run, watch.deaths());
  CHECK(table.find("exit code 3; started again (1 of 2)") != std::string::npos);
  CHECK(table.find("last: block.finished at 1.5 s") != std::string::npos);
}

TEST_CASE("a peer that dies in every start is started again as often as asked", "[launch]") {
  Pool pool;
  RunConfig config = config_of(2);
  config.restarts = 2;
  PoolWatch watch = pool.watch(config, {"dies=1", "steps=60"});
  REQUIRE_FALSE(watch.gather());
  const PoolEnding ending = watch.watch(pool.run.path());
  CHECK(watch.deaths().size() >= 2);  // the other one may have finished before its third start
  CHECK(watch.deaths().size() <= 3);
  CHECK(ending_of(ending, "p01").how == "exit code 3");
  CHECK(pool.display.pool.live == 1);
}

TEST_CASE("nobody is started again in a pool that stops", "[launch]") {
  Pool pool;
  RunConfig config = config_of(3, {"kill=p01@0.1s"});
  config.restarts = 5;
  config.time_s = 0.12;
  PoolWatch watch = pool.watch(config, {"steps=500"});
  REQUIRE_FALSE(watch.gather());
  const PoolEnding ending = watch.watch(pool.run.path());
  CHECK(watch.deaths().size() == 1);
  CHECK(ending_of(ending, "p01").how);
}

TEST_CASE("a fault that comes too late is told", "[launch]") {
  Pool pool;
  PoolWatch watch = pool.watch(config_of(2, {"kill=p01@1h"}), {"steps=10"});
  REQUIRE_FALSE(watch.gather());
  CHECK(watch.watch(pool.run.path()).faults_never_fired == std::vector<std::string>{"kill=p01@1h"});
}

TEST_CASE("what only a simulation can do is refused", "[launch]") {
  for (const char* simulated : {"slow=p01*0.5", "reorder=1%", "duplicate=1%"})
    CHECK_THROWS_AS(parse_live_faults(config_of(2, {simulated})), hearsay::kernels::UsageError);
}

TEST_CASE("peers are told how the network is, the same for all, and when it is well again",
          "[launch]") {
  Pool pool;
  PoolWatch watch =
      pool.watch(config_of(3, {"partition=p01@20%..40%", "corrupt=1%"}), {"steps=100"});
  REQUIRE_FALSE(watch.gather());
  watch.watch(pool.run.path());
  CHECK(pool.display.has("p02 drops"));
  CHECK(pool.display.has("p01 cut off (partition=p01@20%..40%)"));
  CHECK(pool.display.has("p01 reached again (partition=p01@20%..40%)"));
}

TEST_CASE("a peer that cannot start ends the launch with its own words", "[launch]") {
  Pool pool;
  PoolWatch watch = pool.watch(config_of(4), {"usage-error=2"});
  const auto failure = watch.gather();
  REQUIRE(failure);
  CHECK(failure->exit_code == 2);
  CHECK(failure->line == "p02 could not start: --data: nothing there");
  CHECK(pool.display.notices.empty());
}

TEST_CASE("a stalled peer stands still and goes on", "[launch]") {
  Pool pool;
  PoolWatch watch = pool.watch(config_of(2, {"stall=p01@20%..40%"}), {"steps=100"});
  REQUIRE_FALSE(watch.gather());
  const PoolEnding ending = watch.watch(pool.run.path());
  CHECK(pool.display.has("p01 stalled (stall=p01@20%..40%)"));
  CHECK_FALSE(ending_of(ending, "p01").how);
}

TEST_CASE("a stall whose end never comes does not hold the pool", "[launch]") {
  Pool pool;
  PoolWatch watch = pool.watch(config_of(4, {"stall=p01@50%..95%"}));
  REQUIRE_FALSE(watch.gather());
  const PoolEnding ending = watch.watch(pool.run.path());
  CHECK_FALSE(ending_of(ending, "p01").how);  // woken up to be stopped
  CHECK(pool.display.last[1].ended == "stopped");
}

TEST_CASE("a peer that hangs at the end is ended", "[launch]") {
  Pool pool;
  PoolWatch watch = pool.watch(config_of(3), {"hangs=1"});
  REQUIRE_FALSE(watch.gather());
  const PoolEnding ending = watch.watch(pool.run.path());
  CHECK(ending_of(ending, "p01").how == "did not stop, killed by SIGKILL");
  CHECK_FALSE(ending_of(ending, "p00").how);
}

TEST_CASE("a signal stops all peers, the deaf one by force", "[launch]") {
  Pool pool;
  const auto begin = std::chrono::steady_clock::now();
  const auto signal = [&] { return std::chrono::steady_clock::now() - begin > 700ms ? SIGINT : 0; };
  PoolWatch watch = pool.watch(config_of(4), {"steps=100000", "deaf=3"}, signal);
  REQUIRE_FALSE(watch.gather());
  const PoolEnding ending = watch.watch(pool.run.path());
  CHECK(ending.signal == SIGINT);
  CHECK(pool.display.last[0].ended == "interrupted");
  CHECK(ending_of(ending, "p03").how == "did not stop, killed by SIGKILL");
}

TEST_CASE("time and target end a pool", "[launch]") {
  Pool pool;
  RunConfig config = config_of(2);
  SECTION("time") {
    config.time_s = 0.5;
    PoolWatch watch = pool.watch(config, {"steps=100000"});
    REQUIRE_FALSE(watch.gather());
    CHECK(watch.watch(pool.run.path()).wall_s < 3.0);
    CHECK(pool.display.last[1].ended == "time");
  }
  SECTION("target") {
    config.target = Target{"test_acc", 0.5};
    PoolWatch watch = pool.watch(config, {"steps=100"});
    REQUIRE_FALSE(watch.gather());
    const PoolEnding ending = watch.watch(pool.run.path());
    REQUIRE(ending.target_reached_s);
    CHECK(*ending.target_reached_s > 0.2);
    CHECK(ending.target_best >= 0.5);
    CHECK(pool.display.last[0].ended == "target reached");
  }
}

TEST_CASE("a program that is not there is one clear line", "[launch]") {
  Pool pool;
  ChildCommand command;
  command.words = {"no-such-program-anywhere"};
  command.output_path = pool.folder.file("log");
  CHECK_THROWS_WITH(LocalPeer("p00", command),
                    Catch::Contains("no-such-program-anywhere: No such file"));
}

TEST_CASE("nobody outlives a killed watcher, not even a stalled peer", "[launch]") {
  Pool pool;
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);  // orphans become this process's children
  const pid_t watcher = fork();
  if (watcher == 0) {
    PoolWatch watch = pool.watch(config_of(3, {"stall=p01@0s..1h"}), {"steps=100000"});
    if (!watch.gather()) watch.watch(pool.run.path());
    _exit(0);
  }
  std::this_thread::sleep_for(1500ms);
  REQUIRE(kill(watcher, SIGKILL) == 0);
  int ended = 0;
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (std::chrono::steady_clock::now() < deadline) {
    const pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid > 0) ++ended;
    if (pid < 0) break;  // no child is left
    if (pid == 0) std::this_thread::sleep_for(10ms);
  }
  CHECK(ended == 5);  // the watcher, three peers and the guard of the stalled one
  CHECK(waitpid(-1, nullptr, WNOHANG) < 0);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}
