// SPDX-License-Identifier: Apache-2.0
// Peers that meet by files: one beginning, whoever is not in it is late, starts and attempts are
// told apart.
#include "runtime/launch/rendezvous.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include "kernels/core/errc.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

using kernels::PeerId;
namespace fs = std::filesystem;

struct Job {
  TempDir folder;
  RunDir run = RunDir::create(folder.path() + "/run");
  std::set<std::uint16_t> there;  // ports that somebody listens at

  RendezvousPlan plan(std::uint32_t id, std::uint32_t start_with, std::uint64_t attempt = 0) {
    RendezvousPlan plan;
    plan.self = PeerId(id);
    plan.peers = 3;
    plan.start_with = start_with;
    plan.session = "torchrun x";
    plan.attempt = attempt;
    plan.tick = [](const std::string&) { return false; };
    plan.is_there = [this](const Endpoint& at) { return there.count(at.port) > 0; };
    return plan;
  }
  // One look; nothing when it would wait on.
  std::optional<PeerPlace> meet(std::uint32_t id, std::uint32_t start_with, std::uint16_t port,
                                std::uint64_t attempt = 0) {
    there.insert(port);
    return meet_by_files(run, plan(id, start_with, attempt), {"127.0.0.1", port});
  }
};

}  // namespace

TEST_CASE("the last of those that a pool begins with lets it begin, and all read the same",
          "[launch]") {
  Job job;
  CHECK_FALSE(job.meet(0, 3, 1000));
  CHECK_FALSE(job.meet(2, 3, 1002));
  const auto last = job.meet(1, 3, 1001);
  REQUIRE(last);
  CHECK_FALSE(last->late);
  CHECK(last->at_start.empty());
  REQUIRE(last->book.size() == 2);
  CHECK(last->book[1].address.port == 1002);
  CHECK(last->session == "torchrun x#0");
}

TEST_CASE("whoever is not among the first is late and knows the others", "[launch]") {
  Job job;
  CHECK_FALSE(job.meet(0, 2, 1000));
  const auto second = job.meet(2, 2, 1002);
  REQUIRE(second);
  CHECK(second->at_start == std::vector<bool>{true, false, true});
  const auto late = job.meet(1, 2, 1001);
  REQUIRE(late);
  CHECK(late->late);
  CHECK(late->incarnation == 0);
  CHECK(late->book.size() == 2);
  // The same rank again: a later start, and late as well.
  const auto again = job.meet(0, 2, 2000);
  REQUIRE(again);
  CHECK(again->late);
  CHECK(again->incarnation == 1);
  CHECK(again->book.size() == 2);
}

TEST_CASE("a peer that starts again before the pool does is not late", "[launch]") {
  Job job;
  CHECK_FALSE(job.meet(0, 2, 1000));
  job.there.clear();
  CHECK_FALSE(job.meet(0, 2, 2000));
  const auto other = job.meet(1, 2, 1001);
  REQUIRE(other);
  CHECK(other->book.front().incarnation == 1);
  CHECK(other->book.front().address.port == 2000);
}

TEST_CASE("a late peer that finds nobody begins alone", "[launch]") {
  Job job;
  REQUIRE(job.meet(0, 1, 1000));
  job.there.clear();
  const auto alone = job.meet(1, 1, 1001);
  REQUIRE(alone);
  CHECK_FALSE(alone->late);
  CHECK(alone->at_start == std::vector<bool>{false, true, false});
}

TEST_CASE("an attempt begins anew when nobody of the earlier one is there", "[launch]") {
  Job job;
  REQUIRE_FALSE(job.meet(0, 2, 1000));
  REQUIRE(job.meet(1, 2, 1001));
  job.there.clear();
  CHECK_FALSE(job.meet(0, 2, 2000, 1));
  const auto second = job.meet(1, 2, 2001, 1);
  REQUIRE(second);
  CHECK_FALSE(second->late);
  CHECK(second->incarnation == 1);
  CHECK(second->session == "torchrun x#1");
  CHECK(fs::exists(job.run.path() + "/started.torchrun-x-1.json"));
}

TEST_CASE("one process of an attempt joins those that still train", "[launch]") {
  Job job;
  REQUIRE_FALSE(job.meet(0, 2, 1000));
  REQUIRE(job.meet(1, 2, 1001));
  job.there.erase(1000);
  const auto again = job.meet(0, 2, 2000, 3);
  REQUIRE(again);
  CHECK(again->late);
  CHECK(again->incarnation == 3);
  CHECK(again->session == "torchrun x#0");
}

TEST_CASE("processes that were started again a different number of times meet", "[launch]") {
  Job job;
  CHECK_FALSE(job.meet(0, 2, 1000, 2));
  job.there.clear();  // each comes when the other cannot be seen
  CHECK_FALSE(job.meet(1, 2, 1001, 1));
  job.there = {1000, 1001};
  const auto lower = meet_by_files(job.run, job.plan(1, 2, 1), {"127.0.0.1", 1001});
  REQUIRE(lower);
  CHECK(lower->session == "torchrun x#2");
}

TEST_CASE("files of another job do not count", "[launch]") {
  Job job;
  job.run.prepare_peer_dir("p01");
  write_endpoint(job.run, "p01", endpoint_here({"127.0.0.1", 1001}, 4, "torchrun y#0"));
  CHECK_FALSE(job.meet(0, 2, 1000));
  std::ofstream(job.run.peer_endpoint("p01")) << "{\"address\"";
  CHECK_FALSE(job.meet(0, 2, 1000));
}

TEST_CASE("who begins is written down once", "[launch]") {
  TempDir folder;
  const std::string path = folder.file("started.json");
  CHECK_FALSE(read_started(path, "s"));
  CHECK(write_started(path, "s", {{PeerId(1), 4, {"fe80::1%eth0", 7400}}}));
  CHECK_FALSE(write_started(path, "s", {}));
  CHECK_FALSE(read_started(path, "other"));
  const auto peers = read_started(path, "s");
  REQUIRE((peers && peers->size() == 1));
  CHECK(peers->front().incarnation == 4);
  CHECK(peers->front().address == Endpoint{"fe80::1%eth0", 7400});
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a list of who began that says something else is damaged", "[launch]") {
  TempDir folder;
  const std::string path = folder.file("started.json");
  for (const char* peer : {R"({"id":1e300,"incarnation":1,"address":"a:1"})",
                           R"({"id":4294967297,"incarnation":1,"address":"a:1"})",
                           R"({"id":1,"incarnation":-1,"address":"a:1"})",
                           R"({"id":1,"incarnation":1,"address":"a"})", R"({"id":1})", "[]"}) {
    std::ofstream(path) << R"({"session":"s","peers":[)" << peer << "]}";
    CHECK_THROWS_AS(read_started(path, "s"), kernels::DamagedFile);
  }
}

}  // namespace hearsay::runtime
