// SPDX-License-Identifier: Apache-2.0
// Rank 0 and two other ranks of a job, with a mailbox in place of MPI.
#include "runtime/launch/follower.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "runtime/launch/local_peer.hpp"
#include "runtime/launch/pool_watch.hpp"
#include "runtime/launch/remote_peer.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using namespace std::chrono_literals;

namespace {

struct PostOffice {
  explicit PostOffice(int ranks) : boxes(static_cast<std::size_t>(ranks)) {}
  std::mutex mutex;
  std::vector<std::vector<MpiLink::Message>> boxes;
};

class PostLink final : public MpiLink {
 public:
  PostLink(PostOffice& office, int rank) : office_(office), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(office_.boxes.size()); }
  void send(int to, std::string text) override {
    const std::lock_guard lock(office_.mutex);
    office_.boxes[static_cast<std::size_t>(to)].push_back({rank_, std::move(text)});
  }
  std::vector<Message> receive() override {
    const std::lock_guard lock(office_.mutex);
    return std::exchange(office_.boxes[static_cast<std::size_t>(rank_)], {});
  }
  bool all_sent() override { return true; }

 private:
  PostOffice& office_;
  int rank_;
};

std::unique_ptr<LocalPeer> start_peer(int rank, const HeldOutput& output,
                                      const std::vector<std::string>& words) {
  ChildCommand command;
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  command.words = {(here / "fake_peer").string()};
  command.words.insert(command.words.end(), words.begin(), words.end());
  command.environment = {{"HEARSAY_PEER", std::to_string(rank)}, {"HEARSAY_PEERS", "3"}};
  command.output_path = output.path();
  return std::make_unique<LocalPeer>("p0" + std::to_string(rank), command);
}

// A whole job; `words` go to every peer.
struct Job {
  explicit Job(const std::vector<std::string>& words) {
    for (int rank = 0; rank < 3; ++rank) peers.push_back(start_peer(rank, outputs[rank], words));
    for (int rank = 1; rank < 3; ++rank) {
      threads.emplace_back([this, rank] {
        PostLink own(office, rank);
        Follower follower(
            own, *peers[rank], outputs[rank],
            {[this, rank] { return rank == 1 ? stop_rank_1.load() : 0; }, [] { return false; }});
        std::optional<int> code;
        while (!code) code = follower.step();
        codes[rank] = *code;
      });
    }
  }
  std::vector<std::unique_ptr<WatchedPeer>> watched() {
    std::vector<std::unique_ptr<WatchedPeer>> all;
    all.push_back(std::move(peers[0]));
    for (int rank = 1; rank < 3; ++rank) {
      std::optional<relay::Hello> hello;
      while (!(hello = mail.take_hello(rank))) std::this_thread::sleep_for(1ms);
      all.push_back(std::make_unique<RemotePeer>("p0" + std::to_string(rank), rank, *hello, mail));
    }
    return all;
  }
  void end(int code) {
    for (int rank = 1; rank < 3; ++rank) mail.send(rank, relay::Verdict{code});
    for (std::thread& thread : threads) thread.join();
  }

  TempDir folder;
  RunDir run = RunDir::create(folder.file("run"));
  PostOffice office{3};
  PostLink link{office, 0};
  SupervisorMail mail{link};
  std::array<HeldOutput, 3> outputs;
  std::vector<std::unique_ptr<LocalPeer>> peers;
  std::atomic<int> stop_rank_1{0};
  std::array<int, 3> codes{-1, -1, -1};
  std::vector<std::thread> threads;
};

RunConfig config_of(std::vector<std::string> chaos = {}) {
  RunConfig config;
  config.peers = 3;
  config.epochs = 4;
  config.chaos = std::move(chaos);
  return config;
}

}  // namespace

TEST_CASE("rank 0 watches the children of other ranks", "[launch]") {
  Job job({"steps=150"});
  NullDisplay display;
  PoolWatch watch(config_of({"kill=p02@30%", "stall=p01@10%..20%"}), job.watched(), display,
                  [] { return 0; });
  REQUIRE_FALSE(watch.gather());
  job.run.prepare_peer_dir("p00");
  const PoolEnding ending = watch.watch(job.run.path());
  job.end(7);
  CHECK(job.codes[1] == 7);
  CHECK(job.codes[2] == 7);
  CHECK_FALSE(ending.peers[0].how);
  CHECK_FALSE(ending.peers[1].how);
  CHECK(ending.peers[2].how == "killed by SIGKILL");
  CHECK(ending.peers[1].last->progress == 1.0);
  CHECK(std::filesystem::exists(job.run.peer_stderr("p01")));
}

TEST_CASE("a child of another rank that dies is started again by its supervisor", "[launch]") {
  Job job({"dies-once=2", "steps=150"});
  NullDisplay display;
  RunConfig config = config_of();
  config.restarts = 1;
  PoolWatch watch(config, job.watched(), display, [] { return 0; });
  REQUIRE_FALSE(watch.gather());
  const int before = job.peers[2]->pid();
  job.run.prepare_peer_dir("p00");
  const PoolEnding ending = watch.watch(job.run.path());
  const int after = job.peers[2]->pid();
  job.end(0);
  CHECK(before != after);
  CHECK_FALSE(ending.peers[2].how);
  REQUIRE(watch.deaths().size() == 1);
  CHECK(watch.deaths()[0].how == "exit code 3; started again (1 of 1)");
  CHECK(read_text(job.run.peer_dir("p02") + "/starts") == "0\n1 late\n");
}

TEST_CASE("a peer of another rank that cannot start says why on rank 0", "[launch]") {
  Job job({"usage-error=2"});
  NullDisplay display;
  PoolWatch watch(config_of(), job.watched(), display, [] { return 0; });
  const auto failure = watch.gather();
  job.end(failure ? failure->exit_code : 0);
  REQUIRE(failure);
  CHECK(failure->exit_code == 2);
  CHECK(failure->line == "p02 could not start: --data: nothing there");
  CHECK(job.codes[1] == 2);
}

TEST_CASE("a stop signal to one supervisor stops its peer only", "[launch]") {
  Job job({"steps=100"});
  NullDisplay display;
  PoolWatch watch(config_of(), job.watched(), display, [] { return 0; });
  REQUIRE_FALSE(watch.gather());
  job.run.prepare_peer_dir("p00");
  job.stop_rank_1 = SIGTERM;
  const PoolEnding ending = watch.watch(job.run.path());
  job.end(0);
  for (const PeerEnding& peer : ending.peers) CHECK_FALSE(peer.how);
  CHECK(ending.peers[1].last->progress < 1.0);
  CHECK(ending.peers[2].last->progress == 1.0);
}

TEST_CASE("held output comes to the run as soon as it has a directory", "[launch]") {
  TempDir folder;
  HeldOutput output;
  write_text(output.path(), "first\n");
  output.flush();
  CHECK(entries(folder.path()) == 0);
  output.keep_in(folder.file("stderr.log"));
  output.flush();
  CHECK(read_text(folder.file("stderr.log")) == "first\n");
  std::ofstream(output.path(), std::ios::app) << "second\n";
  output.flush();
  output.flush();
  CHECK(read_text(folder.file("stderr.log")) == "first\nsecond\n");
}
