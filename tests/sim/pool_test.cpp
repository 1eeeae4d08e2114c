// SPDX-License-Identifier: Apache-2.0
// Whole pools with real training on generated digits: histories, the log's invariants, exactness,
// ends of runs.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "runtime/log/event_reader.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/invariants.hpp"
#include "runtime/sim/simulation.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
namespace fs = std::filesystem;

namespace {

class LogSink final : public EventSink {
 public:
  explicit LogSink(EventWriter& writer) : writer_(writer) {}
  void write(hearsay::gossip::Time t, std::string_view peer,
             const hearsay::gossip::Event& event) override {
    writer_.write(t, peer, event);
  }

 private:
  EventWriter& writer_;
};

struct Folder {  // a fresh folder, gone at the end
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "hearsay-pool-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~Folder() { fs::remove_all(path); }
  std::string path;
};

Spec spec(const std::string& text) { return parse_spec("--test", text); }

RunConfig base(std::uint32_t peers = 4) {
  RunConfig c;
  c.peers = peers;
  c.data = "synthetic:digits";
  c.split = "iid";
  c.model = spec("mlp:24");
  c.epochs = 4;
  c.optimizer = spec("sgd:lr=0.05,momentum=0.9,clip=1");
  c.schedule = spec("cosine");
  c.batch = 32;
  c.merge_every = spec("1");
  c.protocol = spec("pairwise");
  c.topology = spec("uniform");
  c.merge = spec("ema:0.5");
  c.end_game = spec("off");
  c.eval_every = spec("1,n=200");
  c.net = spec("lan");
  c.compute = spec("fixed");
  c.threads = 1;
  return c;
}

struct Outcome {
  PoolResult result;
  std::string log;  // without its header line
  std::vector<std::string> broken;
  std::vector<float> exported;
};

Outcome run(const RunConfig& config) {
  static const Dataset digits = load_dataset("synthetic:digits", 1);
  const Folder folder;
  Outcome outcome;
  Simulation simulation(config, digits);
  {
    EventWriter writer(folder.path);
    hearsay::gossip::Event header("run.started");
    writer.write_header(header.add("clock", std::string("virtual")));
    LogSink sink(writer);
    outcome.result = simulation.run(sink, {});
    writer.close();
  }
  outcome.exported = simulation.exported_model().weights;
  const std::string path = folder.path + "/events.jsonl";
  outcome.broken = broken_invariants(read_events(path).events);
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  std::ostringstream rest;
  rest << in.rdbuf();
  outcome.log = rest.str();
  return outcome;
}

}  // namespace

TEST_CASE("one seed is one history: same log, same digest, with one and with three threads") {
  const auto* protocol = GENERATE("pairwise", "push", "push-sum", "ddp", "diloco");
  CAPTURE(protocol);
  auto config = base();
  config.protocol = spec(protocol);
  config.seed = 7;
  const Outcome first = run(config), again = run(config);
  config.threads = 3;
  const Outcome threads = run(config);
  CHECK(first.log == again.log);
  CHECK(first.log == threads.log);
  CHECK(first.result.digest == again.result.digest);
  CHECK(first.result.digest == threads.result.digest);
  config.seed = 8;
  CHECK_FALSE(run(config).result.digest == first.result.digest);
}

TEST_CASE("a world of one trains byte for byte as plain local training") {
  auto config = base(1);
  config.protocol = spec(GENERATE("pairwise", "push", "push-sum"));
  CAPTURE(config.protocol.text);
  auto local = config;
  local.protocol = spec("local");
  const Outcome pool = run(config), alone = run(local);
  CHECK(pool.result.digest == alone.result.digest);
  CHECK(pool.exported == alone.exported);
  CHECK(pool.result.exit_code == 0);
}

TEST_CASE("with one peer, all-reduce is plain training too") {
  auto config = base(1), local = base(1);
  config.protocol = spec("ddp");
  local.protocol = spec("local");
  // the gradient passes through a multiplication and a division by the batch size, which costs a
  // rounding or two
  CHECK(run(config).result.test_acc_mean == Approx(run(local).result.test_acc_mean).margin(0.01));
}

TEST_CASE("all-reduce keeps every peer at the same weights, whatever the shard sizes") {
  auto config = base(3);
  config.protocol = spec(GENERATE("ddp", "diloco", "diloco:lr=1,mu=0"));
  CAPTURE(config.protocol.text);
  config.split = GENERATE(as<std::string>{}, "iid", "dirichlet:0.5");
  const Outcome outcome = run(config);
  CHECK(outcome.result.consensus_distance == Approx(0.0).margin(1e-9));
  CHECK(outcome.result.test_acc_min == outcome.result.test_acc_max);
  CHECK(outcome.result.test_acc_mean > 0.3);
}

TEST_CASE("all-reduce in a codec too, and what messages leave out is worth keeping") {
  const auto run_with = [](const std::string& protocol, const char* codec) {
    auto config = base(4);
    if (protocol.starts_with("diloco")) config.merge_every = spec("0.25");
    config.protocol = spec(protocol);
    config.codec = spec(codec);
    return run(config);
  };
  const auto bytes_of = [](const Outcome& outcome) {
    std::uint64_t bytes = 0;
    for (const PeerResult& peer : outcome.result.peers) bytes += peer.wire_bytes;
    return bytes;
  };
  for (const std::string protocol : {"ddp:", "diloco:lr=1,mu=0,"}) {
    const Outcome whole = run_with(protocol.starts_with("ddp") ? "ddp" : "diloco:lr=1,mu=0", "raw");
    const char* const codec = protocol.starts_with("ddp") ? "topk:2%+int8" : "topk:10%+int8";
    double lost = 0.0;
    for (const char* feedback : {"none", "ef", "ef21"}) {
      const Outcome coded = run_with(protocol + "feedback=" + feedback, codec);
      CAPTURE(protocol, feedback, lost, whole.result.test_acc_mean);
      CHECK(coded.result.consensus_distance == Approx(0.0).margin(1e-9));
      CHECK(coded.broken == std::vector<std::string>{});
      CHECK(bytes_of(coded) < bytes_of(whole) / 3);
      if (std::string_view(feedback) == "none") lost = coded.result.test_acc_mean;
      if (std::string_view(feedback) == "ef") {
        CHECK(coded.result.test_acc_mean > lost + 0.03);
        CHECK(coded.result.test_acc_mean > whole.result.test_acc_mean - 0.05);
      }
    }
  }
}

TEST_CASE("pools with an outer optimiser learn, with any codec, and one alone does too") {
  for (const char* outer : {"nesterov", "noloco", "noloco:a=0.5,gamma=0.8", "delayed:n=3"}) {
    for (const char* codec : {"raw", "int8", "topk:20%+mirror"}) {
      CAPTURE(outer, codec);
      auto config = base(4);
      config.merge_every = spec("0.5");
      config.outer = spec(outer);
      config.codec = spec(codec);
      const Outcome outcome = run(config);
      CHECK(outcome.result.exit_code == 0);
      CHECK(outcome.broken == std::vector<std::string>{});
      CHECK(outcome.result.test_acc_mean > 0.5);
    }
  }
  auto alone = base(1);
  alone.outer = spec("nesterov");
  CHECK(run(alone).result.test_acc_mean > 0.5);
}

TEST_CASE("two, three and four peers that speak in low rank learn as they should") {
  const std::uint32_t peers = GENERATE(2u, 3u, 4u);
  CAPTURE(peers);
  auto config = base(peers), local = base(peers);
  config.codec = spec("lowrank:2");
  config.merge_every = spec("0.25");
  local.protocol = spec("local");
  const Outcome pool = run(config);
  CHECK(pool.result.exit_code == 0);
  CHECK(pool.broken == std::vector<std::string>{});
  CHECK(pool.result.test_acc_mean > run(local).result.test_acc_mean - 0.01);
  for (const PeerResult& peer : pool.result.peers) {
    CHECK(peer.counters.merges_applied > 0);
    CHECK(peer.counters.merges_refused == 0);
  }
}

TEST_CASE(
    "pools whose messages follow averages, momentum or the loss learn, through loss and deaths") {
  const auto* codec =
      GENERATE("ma:10%+int8+mirror", "score:10%,per=tensor", "topk:10%+int8+qm:literal",
               "topk:5%+density:slow=5%,fast=20%+mirror");
  const auto* chaos = GENERATE("", "drop=5%", "kill=p02@30%..60%");
  CAPTURE(codec, chaos);
  auto config = base(4);
  config.codec = spec(codec);
  config.merge_every = spec("0.25");
  if (*chaos != '\0') config.chaos = {chaos};
  const Outcome outcome = run(config);
  CHECK(outcome.result.exit_code == 0);
  CHECK(outcome.broken == std::vector<std::string>{});
  CHECK(outcome.result.test_acc_mean > 0.5);
}

TEST_CASE(
    "pools of published copies learn, and keep their log's promises through loss and deaths") {
  const auto* codec = GENERATE("topk:20%", "int8", "randk:30%+int8");
  const auto* chaos = GENERATE("", "drop=5%", "kill=p02@30%..60%", "corrupt=5%");
  CAPTURE(codec, chaos);
  auto config = base(6);
  config.protocol = spec("choco");
  config.topology = spec("ring");
  config.codec = spec(codec);
  config.merge_every = spec("0.25");
  if (*chaos != '\0') config.chaos = {chaos};
  const Outcome outcome = run(config);
  CHECK(outcome.result.exit_code == 0);
  CHECK(outcome.broken == std::vector<std::string>{});
  CHECK(outcome.result.test_acc_mean > 0.5);
}

TEST_CASE("odd pools: nobody starves and the longest gap between merges is reported") {
  const std::uint32_t peers = GENERATE(1u, 3u, 5u, 7u);
  CAPTURE(peers);
  const Outcome outcome = run(base(peers));
  CHECK(outcome.result.exit_code == 0);
  CHECK(outcome.broken == std::vector<std::string>{});
  for (const PeerResult& peer : outcome.result.peers) {
    CHECK(peer.alive);
    CHECK((peers == 1 || peer.counters.merges_applied > 0));
    CHECK(peer.longest_merge_gap_epochs > 0.0);
    CHECK(peer.longest_merge_gap_epochs <= 4.0 + 1e-9);
  }
}

TEST_CASE("the log keeps its invariants under every protocol, mode, rule and fault") {
  struct Case {
    const char *protocol, *merge_every, *merge, *topology;
    bool wait;
    const char* chaos;
  };
  const Case c = GENERATE(
      Case{"pairwise", "1", "ema:0.5", "uniform", false, "kill=1@40%"},
      Case{"pairwise", "0.25", "ema:a=0.1..0.5,shape=cosine", "ring", false, "drop=5%"},
      Case{"pairwise", "1,mode=shifted", "sample-weighted", "exp", true, "stall=p01@20%..50%"},
      Case{"pairwise", "2", "ema:0.5+confidence:g=2", "uniform", false, "partition=p02@20%..60%"},
      Case{"push", "1,mode=truncated", "ema:0.25+staleness:half-life=20", "regular:d=4", false,
           "slow=p00*3"},
      Case{"push", "0.5", "ema:0.5", "uniform", true, "drop=5%"},
      Case{"push-sum", "1", "ema:0.5", "uniform", false, "kill=p03@50%"},
      Case{"push-sum", "0.1", "ema:0.5", "ring", true, "slow=p02*2"},
      Case{"pairwise", "0.25", "median:b=4", "uniform", false, "noise=p01*0.5@20%"},
      Case{"push", "0.25", "krum:b=5,f=1", "uniform", false, "scale=p02*1e6@10%..60%"},
      Case{"pairwise", "0.25", "ema:0.5+norm-clip+gate", "uniform", false, "poison=p03@40%"});
  const std::uint64_t seed = GENERATE(1, 2);
  CAPTURE(c.protocol, c.merge_every, c.merge, c.topology, c.wait, c.chaos, seed);
  auto config = base(6);
  config.protocol = spec(c.protocol);
  config.merge_every = spec(c.merge_every);
  config.merge = spec(c.merge);
  config.topology = spec(c.topology);
  config.wait = c.wait;
  config.chaos = {c.chaos};
  config.seed = seed;
  const Outcome outcome = run(config);
  CHECK(outcome.broken == std::vector<std::string>{});
  CHECK(outcome.result.exit_code == 0);
  CHECK(outcome.result.test_acc_min > 0.5);
  CHECK(outcome.result.lost == (std::string(c.chaos).rfind("kill", 0) == 0 ? 1u : 0u));
}

TEST_CASE("merging helps: a pool is better than peers that never merge") {
  auto config = base(8);
  config.epochs = 8;
  auto local = config;
  local.protocol = spec("local");
  const double pool = run(config).result.test_acc_mean, alone = run(local).result.test_acc_mean;
  CHECK(pool > alone + 0.01);
}

TEST_CASE("a learning rate that diverges is named and ends with a verdict") {
  auto config = base(3);
  config.optimizer = spec("sgd:lr=1e30");
  const Outcome outcome = run(config);
  CHECK(outcome.result.verdict == "lost quorum");
  CHECK(outcome.result.exit_code == 3);
  CHECK(outcome.result.reason.find("3 diverged") != std::string::npos);
  CHECK(outcome.log.find("\"kind\":\"loss not finite\"") != std::string::npos);
}

TEST_CASE("a missed target and a fault that never fires are failures, a reached target is not") {
  auto config = base(3);
  config.target = Target{"test_acc", 0.3};
  const Outcome reached = run(config);
  CHECK(reached.result.exit_code == 0);
  REQUIRE(reached.result.target_reached_s);
  CHECK(*reached.result.target_reached_s < *reached.result.virtual_s + 1e-9);
  config.target->value = 0.9999;
  CHECK(run(config).result.exit_code == 1);
  config.target.reset();
  config.chaos = {"kill=p01@900s"};
  CHECK(run(config).result.verdict == "fault never fired");
}

TEST_CASE("labels rotated by group: each peer is tested on its own labels") {
  auto config = base(4);
  config.epochs = 8;
  config.protocol = spec("local");
  config.split = "iid+rotate:groups=2,by=5";
  CHECK(run(config).result.test_acc_min > 0.7);
}

TEST_CASE("an end game pulls the models together and has its own keys") {
  auto config = base(4);
  config.end_game = spec("rounds=6");
  const Outcome outcome = run(config);
  REQUIRE(outcome.result.test_acc_final_mean);
  CHECK(*outcome.result.test_acc_final_max - *outcome.result.test_acc_final_min <=
        outcome.result.test_acc_max - outcome.result.test_acc_min + 0.01);
  CHECK(outcome.broken == std::vector<std::string>{});
}
