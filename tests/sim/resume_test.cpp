// SPDX-License-Identifier: Apache-2.0
// A pool that is stopped anywhere and taken up again from its files has the same history, byte for
// byte, as one that never stopped: every protocol, rule, fault, network, end of run.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <unistd.h>

#include "runtime/app/result_json.hpp"
#include "runtime/checkpoint/checkpoint_store.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/test_support.hpp"
#include "runtime/sim/simulation.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::Rng;
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

Spec spec(const char* text) { return parse_spec("--test", text); }

struct Case {
  const char* name;
  const char* protocol = "pairwise";
  const char* merge_every = "1";
  const char* merge = "ema:0.5";
  const char* topology = "uniform";
  bool wait = false;
  std::vector<std::string> chaos = {};
  const char* net = "lan";
  const char* compute = "fixed";
  const char* end_game = "off";
  const char* optimizer = "sgd:lr=0.05,momentum=0.9,clip=1";
  bool until_converged = false;
  std::optional<double> target = {}, time_s = {};
  const char* split = "iid";
  std::uint32_t epochs = 2;
  const char* cluster = "off";
  const char* codec = "raw";
  const char* bandwidth = "off";
  const char* outer = "none";
  const char* share = "off";
  const char *sampling = "uniform", *retire = "off", *quarantine = "off", *trade = "off";
  const char* tune = "off";
  bool log_examples = false;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {.name = "pairwise",
       .net = "link:bandwidth=100Mb/s,latency=0.2ms,jitter=1ms",
       .compute = "jitter:cv=0.3"},
      {.name = "communities",
       .merge_every = "0.25",
       .split = "iid+rotate:groups=2,by=5",
       .cluster = "agglo:average,every=1"},
      {.name = "soft choice, likeness as weight",
       .merge_every = "0.25",
       .merge = "ema:0.5+alike:g=2",
       .split = "iid+rotate:groups=2,by=5",
       .cluster = "agglo:average,every=2,soft=0.2,schedule=early"},
      {.name = "settings are learned",
       .merge_every = "0.25",
       .chaos = {"drop=5%", "kill=p03@30%..50%"},
       .tune = "population:lr,alpha,eager=50"},
      {.name = "examples change hands",
       .merge_every = "0.25",
       .chaos = {"drop=5%", "kill=p03@30%..50%"},
       .compute = "fixed:20ms",
       .split = "dirichlet:0.5",
       .epochs = 4,
       .share = "hard:16,by=receiver",
       .log_examples = true},
      {.name = "copies, judged examples",
       .merge_every = "0.5",
       .epochs = 4,
       .share = "hard:8,mode=copy",
       .sampling = "hard:every=1,zeta=1",
       .retire = "agreed:reserve=2,retire=40%,alike=1",
       .quarantine = "hard:confidence=0.3,spread=0.3,models=2"},
      {.name = "models are traded", .merge_every = "0.25", .trade = "models:50%,horizon=2"},
      {.name = "waiting", .merge_every = "0.25", .wait = true, .compute = "jitter"},
      {.name = "slow network",
       .merge_every = "0.125",
       .topology = "ring",
       .net = "link:bandwidth=2Mb/s,latency=3ms"},
      {.name = "push",
       .protocol = "push",
       .merge_every = "0.25",
       .merge = "ema:0.25+staleness:half-life=20"},
      {.name = "push, waiting, loss",
       .protocol = "push",
       .merge_every = "0.5",
       .wait = true,
       .chaos = {"drop=5%"},
       .epochs = 3},
      {.name = "push-sum",
       .protocol = "push-sum",
       .merge_every = "0.2",
       .net = "link:bandwidth=10Mb/s,latency=2ms,jitter=5ms",
       .compute = "jitter:cv=0.5"},
      {.name = "push-sum, waiting, slow",
       .protocol = "push-sum",
       .merge_every = "0.5",
       .topology = "exp",
       .wait = true,
       .chaos = {"slow=p02*3"}},
      {.name = "local", .protocol = "local", .compute = "jitter"},
      {.name = "ddp",
       .protocol = "ddp",
       .net = "link:bandwidth=100Mb/s,latency=0.1ms,jitter=0.1ms",
       .compute = "jitter"},
      {.name = "ddp, uneven", .protocol = "ddp", .split = "dirichlet:0.5"},
      {.name = "ddp in a codec, momentum before it",
       .protocol = "ddp:feedback=dgc",
       .net = "link:bandwidth=100Mb/s,latency=0.1ms,jitter=0.1ms",
       .compute = "jitter",
       .codec = "blocks:0.25+int8"},
      {.name = "schedule, shifted",
       .merge_every = "1,mode=shifted",
       .merge = "ema:a=0.1..0.5,shape=cosine",
       .epochs = 3},
      {.name = "samples, confidence",
       .merge_every = "0.3",
       .merge = "sample-weighted+confidence:g=2",
       .topology = "exp"},
      {.name = "truncated",
       .merge_every = "1,mode=truncated",
       .merge = "ema:a=0.1..0.5,shape=linear+staleness:half-life=5",
       .topology = "regular:d=3",
       .epochs = 3},
      {.name = "adamw", .optimizer = "adamw:lr=1e-3,decay=0.1,clip=1"},
      {.name = "end game",
       .merge_every = "0.5",
       .net = "link:bandwidth=10Mb/s,latency=1ms",
       .end_game = "rounds=6"},
      {.name = "end game of push-sum", .protocol = "push-sum", .end_game = "rounds=5"},
      {.name = "votes",
       .merge_every = "0.125",
       .optimizer = "sgd:lr=0.02",
       .until_converged = true,
       .epochs = 8},
      {.name = "target", .compute = "jitter", .target = 0.5, .epochs = 6},
      {.name = "time", .merge_every = "0.25", .time_s = 0.03, .epochs = 6},
      {.name = "crowd",
       .merge_every = "0.25",
       .merge = "median:b=3",
       .chaos = {"noise=p01*0.5@20%..80%", "nan=p02@40%", "corrupt=5%"}},
      {.name = "gate",
       .merge_every = "0.25",
       .merge = "ema:0.5+norm-clip+gate:kappa=1",
       .chaos = {"drift=p01@10%", "label-flip=p02@30%..60%", "poison=p00@50%"}},
      {.name = "gone stale",
       .protocol = "push",
       .merge_every = "0.25",
       .merge = "krum:b=3,f=1+cosine-gate:-0.5",
       .chaos = {"replay-stale=p01@30%", "sign-flip=p02*0.5@50%"}},
      {.name = "faults",
       .merge_every = "0.25",
       .chaos = {"slow=p00*2", "stall=p01@20%..50%", "partition=p02@30%..60%", "kill=1@55%",
                 "drop=2%"},
       .epochs = 3},
      {.name = "faults by the clock",
       .merge_every = "0.25",
       .wait = true,
       .chaos = {"kill=p03@8ms", "stall=p01@4ms..20ms", "partition=p02@10ms..18ms"},
       .compute = "jitter",
       .epochs = 3},
      {.name = "outer: both partners' steps, in a codec",
       .merge_every = "0.25",
       .net = "link:bandwidth=10Mb/s,latency=2ms,jitter=5ms",
       .compute = "jitter:cv=0.3",
       .codec = "topk:10%+mirror",
       .outer = "noloco:a=0.5,gamma=0.7,mu=0.5"},
      {.name = "outer: own steps, pushed",
       .protocol = "push",
       .merge_every = "0.25",
       .chaos = {"drop=5%"},
       .outer = "nesterov"},
      {.name = "outer: late momentum, end game",
       .merge_every = "0.2",
       .net = "link:bandwidth=10Mb/s,latency=1ms",
       .end_game = "rounds=4",
       .outer = "delayed:n=3,c=0.1"},
      {.name = "low rank",
       .merge_every = "0.25",
       .net = "link:bandwidth=10Mb/s,latency=2ms,jitter=5ms",
       .codec = "lowrank:2"},
      {.name = "as many bits as needed",
       .merge_every = "0.1",
       .net = "link:bandwidth=10Mb/s,latency=2ms,jitter=5ms",
       .codec = "blocks:0.25+auto+mirror"},
      {.name = "averages of changes, momentum of what is said",
       .merge_every = "0.1",
       .net = "link:bandwidth=10Mb/s,latency=2ms,jitter=5ms",
       .codec = "ma:10%+int8+qm:on_support+mirror"},
      {.name = "scores, and a density that follows the loss",
       .merge_every = "0.1",
       .compute = "jitter:cv=0.3",
       .codec = "score:2%,per=tensor+density:slow=5%,fast=20%"},
      {.name = "a codec that goes by the link",
       .merge_every = "0.1",
       .net = "link:bandwidth=5Mb/s,latency=1ms",
       .compute = "jitter:cv=0.3",
       .codec = "auto"},
      {.name = "a codec that goes by a fast link, in the end by none",
       .merge_every = "0.1",
       .compute = "jitter:cv=0.3",
       .codec = "auto"},
      {.name = "to the bit, over a bad network",
       .merge_every = "0.1",
       .chaos = {"drop=10%", "reorder=10%", "duplicate=10%"},
       .net = "link:bandwidth=10Mb/s,latency=2ms,jitter=5ms",
       .optimizer = "sgd:lr=0.0001",
       .codec = "lossless:anchor=6"},
      {.name = "a bandwidth", .merge_every = "0.1", .codec = "auto", .bandwidth = "300kB/s"},
      {.name = "copies of neighbours",
       .protocol = "choco:gamma=0.3",
       .merge_every = "0.2",
       .topology = "ring",
       .chaos = {"drop=5%", "kill=p02@30%..50%"},
       .net = "link:bandwidth=10Mb/s,latency=2ms,jitter=5ms",
       .compute = "jitter:cv=0.3",
       .codec = "topk:20%+int8"},
      {.name = "diloco",
       .protocol = "diloco",
       .merge_every = "0.3",
       .net = "link:bandwidth=100Mb/s,latency=0.1ms,jitter=0.1ms",
       .compute = "jitter",
       .split = "dirichlet:0.5"},
      {.name = "diloco in a codec, by changes",
       .protocol = "diloco:lr=1,mu=0.5,feedback=ef21",
       .merge_every = "0.3",
       .net = "link:bandwidth=100Mb/s,latency=0.1ms,jitter=0.1ms",
       .compute = "jitter",
       .codec = "topk:10%+int8"}};
  return all;
}

RunConfig config_of(const Case& c, std::uint64_t seed) {
  RunConfig r;
  r.peers = 4;
  r.data = "synthetic:digits";
  r.split = c.split;
  r.model = spec("mlp:10");
  r.epochs = c.epochs;
  r.optimizer = spec(c.optimizer);
  r.schedule = spec("cosine");
  r.batch = 64;
  r.merge_every = spec(c.merge_every);
  r.protocol = spec(c.protocol);
  r.topology = spec(c.topology);
  r.merge = spec(c.merge);
  r.codec = spec(c.codec);
  r.bandwidth = c.bandwidth;
  r.outer = spec(c.outer);
  r.cluster = spec(c.cluster);
  r.share = spec(c.share);
  r.sampling = spec(c.sampling);
  r.retire = spec(c.retire);
  r.quarantine = spec(c.quarantine);
  r.trade = spec(c.trade);
  r.tune = spec(c.tune);
  r.log_examples = c.log_examples;
  r.wait = c.wait;
  r.until_converged = c.until_converged;
  r.end_game = spec(c.end_game);
  r.eval_every = spec("0.5,n=50");
  r.net = spec(c.net);
  r.compute = spec(c.compute);
  r.chaos = c.chaos;
  if (c.target) r.target = Target{"test_acc", *c.target};
  r.time_s = c.time_s;
  r.seed = seed;
  r.threads = 1;
  return r;
}

const Dataset& digits() {
  static const Dataset data = load_dataset("synthetic:digits", 1);
  return data;
}

struct History {
  std::string log;     // without its header line
  std::string result;  // without what depends on the wall clock
  std::uint64_t events = 0;
};

std::string comparable(const PoolResult& result) {
  auto json = result_json(result);
  json.erase("wall_s");
  json.erase("training_share");
  return json.dump(1);
}

std::string without_header(const std::string& path) {
  const std::string text = read_text(path);
  return text.substr(text.find('\n') + 1);
}

// Runs in `folder` to the end, or to its `stop`th event from here, where it is left as after a
// SIGKILL. Checkpoints after the events named (counted from here); goes on from the newest one
// when there is one.
History run(const RunConfig& config, const std::string& folder, const std::set<std::uint64_t>& cuts,
            std::optional<std::uint64_t> number = std::nullopt) {
  const CheckpointStore store(folder + "/ckpt");
  Simulation simulation(config, digits());
  std::unique_ptr<EventWriter> writer;
  if (number) {
    LoadedCheckpoint from = store.load(*number);
    simulation.resume(from);
    writer = std::make_unique<EventWriter>(folder, log_position(from));
  } else {
    writer = std::make_unique<EventWriter>(folder);
    writer->write_header(hearsay::gossip::Event("run.started"));
  }
  LogSink sink(*writer);
  History history;
  SimHooks hooks;
  hooks.checkpoint_due = [&] { return cuts.contains(++history.events); };
  hooks.checkpoint = [&] {
    Checkpoint made = simulation.checkpoint();
    keep_log_position(made, writer->synced_position());
    store.write(1, made);
  };
  history.result = comparable(simulation.run(sink, std::move(hooks)));
  writer->close();
  history.log = without_header(folder + "/events.jsonl");
  return history;
}

}  // namespace

TEST_CASE("a simulation taken up again anywhere has the history of one that never stopped") {
  const std::size_t index = GENERATE(range(std::size_t{0}, cases().size()));
  const Case& c = cases()[index];
  const std::uint64_t seed = 100 + index;
  CAPTURE(c.name, seed);
  const RunConfig config = config_of(c, seed);
  const TempDir dir;
  fs::create_directory(dir.file("whole"));
  const History whole = run(config, dir.file("whole"), {});
  REQUIRE(whole.events > 20);
  Rng rng = Rng::stream(seed, "cuts");
  for (int round = 0; round < 3; ++round) {
    // Three stops in a row, each with work done after its checkpoint that is done again.
    std::uint64_t done = 0;
    std::optional<std::uint64_t> number;
    const std::string folder = dir.file("run" + std::to_string(round));
    fs::create_directory(folder);
    for (std::uint64_t stop = 1; stop <= 3; ++stop) {
      const auto left = static_cast<std::uint32_t>(whole.events - done);
      if (left < 2) break;
      const std::uint64_t cut = 1 + rng.below(left - 1);
      CAPTURE(round, stop, done, cut, whole.events);
      RunConfig now = config;
      now.threads = 1 + rng.below(3);
      const History part = run(now, folder, {cut}, number);
      REQUIRE(part.events == whole.events - done);
      REQUIRE(part.log == whole.log);
      REQUIRE(part.result == whole.result);
      done += cut;
      number = stop;
    }
    const History end = run(config, folder, {}, number);
    REQUIRE(end.log == whole.log);
    REQUIRE(end.result == whole.result);
  }
}
