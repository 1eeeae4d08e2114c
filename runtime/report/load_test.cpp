// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/load.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "kernels/core/errc.hpp"
#include "runtime/report/clocks.hpp"
#include "runtime/report/report_testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime::report {
namespace {

class TempRun {
 public:
  TempRun() {
    std::string name = (std::filesystem::temp_directory_path() / "hearsay-report-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempRun() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const std::string kHeader =
    R"({"ev":"run.started","schema":1,"run":"r","time":"2026-01-02T03:04:05Z","clock":"virtual"})"
    "\n";
const std::string kBlock =
    R"({"ev":"block.finished","t_ns":1000000000,"peer":"p00","n":0,"samples":320,"steps":10,)"
    R"("loss":0.5,"step_ns":100000000})"
    "\n";

}  // namespace

TEST_CASE("events of all kinds become facts") {
  TestLog log;
  log.add(0.0, "p00", "peer.joined", {{"inc", 0}}).block(2.0, "p00", 640, 20, 0.1);
  log.add(1.0, "p00", "eval.finished", {{"split", "test"}, {"loss", 0.4}, {"acc", 0.9}});
  log.send(2.0, "p00", "p01", 7).merge(2.5, "p01", "p00", 7);
  log.send(2.0, "p00", "p01", 8).merge(2.6, "p01", "p00", 8, "refuse");
  log.send(2.0, "p00", "p01", 9);
  const RunFacts facts = facts_of({log.log()}, {"p00", "p01"});
  REQUIRE(facts.blocks.size() == 1);
  CHECK(facts.blocks[0].begin_s == Approx(0.0));
  REQUIRE(facts.evaluations.size() == 1);
  CHECK(facts.evaluations[0].samples == Approx(320.0));  // half-way through the block
  REQUIRE(facts.merges.size() == 2);
  CHECK(facts.merges[0].applied);
  CHECK(facts.merges[0].bytes == Approx(1000.0));
  CHECK(facts.merges[1].refused());
  CHECK_FALSE(facts.merges[1].applied);
  REQUIRE(facts.transfers.size() == 3);
  CHECK(facts.transfers[0].received);
  CHECK_FALSE(facts.transfers[2].received);
  CHECK(facts.end_s == Approx(2.6));
}

TEST_CASE("a later start of a peer is placed between what it received and what it sent") {
  TestLog first("p00"), second("p01", "2026-01-02T03:04:09Z");
  first.send(4.1, "p00", "p01", 0).merge(4.3, "p00", "p01", 0);
  second.merge(0.05, "p01", "p00", 0);  // not before 4.1 - 0.05 = 4.05
  second.send(0.1, "p01", "p00", 0);    // not after 4.3 - 0.1 = 4.2
  std::vector<OneLog> logs{first.log(), second.log()};
  align_clocks(logs);
  CHECK(logs[0].offset_ns == 0);
  CHECK(logs[1].offset_ns >= 4'050'000'000);
  CHECK(logs[1].offset_ns <= 4'200'000'000);
}

TEST_CASE("peers that start together, and simulations, are not moved") {
  TestLog first("p00"), second("p01", "2026-01-02T03:04:06Z"), simulation("");
  std::vector<OneLog> logs{first.log(), second.log(), simulation.log()};
  align_clocks(logs);
  for (const OneLog& log : logs) CHECK(log.offset_ns == 0);
}

TEST_CASE("a run without run.json and result.json says so and is read") {
  const TempRun run;
  run.write("events.jsonl", kHeader + kBlock);
  const RunFacts facts = load_run(run.path());
  CHECK(facts.blocks.size() == 1);
  CHECK(facts.is_virtual);
  CHECK(facts.missing.size() == 2);
  CHECK_FALSE(facts.result);
}

TEST_CASE("codecs that a peer changes between are no peers") {
  const TempRun run;
  run.write(
      "events.jsonl",
      kHeader + kBlock +
          R"({"ev":"codec.changed","t_ns":2000000000,"peer":"p00","n":1,"from":"int8","to":"raw"})"
          "\n");
  const RunFacts facts = load_run(run.path());
  REQUIRE(facts.peers.size() == 1);
  CHECK(facts.peers[0].name == "p00");
}

TEST_CASE("damage in the middle of a log costs its line, not the log") {
  const TempRun run;
  run.write("events.jsonl", kHeader + kBlock + "\xFF\xFE garbage\n" + kBlock);
  run.write("result.json", "{\"verdict\": ");
  const RunFacts facts = load_run(run.path());
  CHECK(facts.blocks.size() == 2);
  std::string all;
  for (const std::string& sentence : facts.missing) all += sentence + "\n";
  CHECK(all.find("1 line could not be read") != std::string::npos);
  CHECK(all.find("result.json is damaged") != std::string::npos);
}

TEST_CASE("a torn last line is normal and the peer's own") {
  const TempRun run;
  run.write("peers/p00/events.jsonl", kHeader + kBlock + kBlock.substr(0, 30));
  const RunFacts facts = load_run(run.path());
  REQUIRE(facts.lives.size() == 1);
  CHECK(facts.lives[0].is_torn);
  CHECK(facts.blocks.size() == 1);
}

TEST_CASE("a run of which nothing can be read is damaged, a folder without log is no run") {
  const TempRun run;
  CHECK_THROWS_AS(load_run(run.path()), kernels::UsageError);
  run.write("events.jsonl", "not a log\n");
  try {
    load_run(run.path());
    FAIL("nothing was thrown");
  } catch (const kernels::Fault& fault) {
    CHECK(fault.code() == kernels::ExitCode::damaged);
  }
  CHECK_THROWS_AS(load_run(run.path() + "/nowhere"), kernels::UsageError);
}

TEST_CASE("values of wrong types are absent, not errors") {
  const TempRun run;
  run.write("events.jsonl",
            kHeader + R"({"ev":"merge.decided","t_ns":5,"peer":"p00","n":0,"from":"p01","seq":-4,)"
                      R"("verdict":7,"alpha":"nan","cos":[1],"rel_norm":null})"
                      "\n");
  run.write("result.json",
            R"({"verdict":3,"test_acc_mean":"nan","per_peer":[1,{"peer":4},{"alive":"yes"}]})");
  run.write("run.json", R"({"seed":"x","config":[1,2],"clock":4})");
  const RunFacts facts = load_run(run.path());
  REQUIRE(facts.merges.size() == 1);
  CHECK_FALSE(facts.merges[0].cosine);
  REQUIRE(facts.result);
  CHECK_FALSE(facts.result->accuracy_mean);
}

}  // namespace hearsay::runtime::report
