// SPDX-License-Identifier: Apache-2.0
// Whole pools whose examples change hands, are drawn by difficulty, retire, or go to quarantine,
// with real training on generated digits: none is lost or owned twice, whatever is lost and whoever
// dies; nothing depends on threads; wrong labels are found.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/sim/digits_pool.hpp"

using namespace hearsay::runtime;
using digits_pool::spec;
namespace gossip = hearsay::gossip;

namespace {

RunConfig base(const std::string& share) {
  RunConfig c = digits_pool::base();
  c.split = "dirichlet:0.3";
  c.epochs = 8;
  c.merge_every = spec("0.5");
  c.share = spec(share);
  c.compute = spec("fixed:20ms");
  c.check = true;  // every example has one owner, at any time
  return c;
}

struct Outcome {
  PoolResult result;
  std::map<std::string, int> events;
  std::uint64_t example_bytes = 0, samples = 0, retired = 0, quarantined = 0, wrong = 0, found = 0;
};

Outcome run(const RunConfig& config) {
  digits_pool::Ended ended = digits_pool::run(config);
  Outcome outcome;
  outcome.result = std::move(ended.result);
  outcome.events = std::move(ended.events);
  for (const PeerResult& peer : outcome.result.peers) {
    outcome.example_bytes += peer.example_bytes.value_or(0);
    outcome.samples += peer.counters.samples;
    outcome.retired += peer.examples.retired.value_or(0) + peer.examples.reserve.value_or(0);
    outcome.quarantined += peer.examples.quarantined.value_or(0);
    outcome.wrong += peer.examples.wrong.value_or(0);
    outcome.found += peer.examples.wrong_quarantined.value_or(0);
  }
  return outcome;
}

}  // namespace

TEST_CASE("examples change hands by every rule, each has one owner, and bytes are counted") {
  const std::string rule =
      GENERATE("sender", "receiver", "random", "classes", "novel", "rho", "signed");
  CAPTURE(rule);
  RunConfig config = base("hard:16,by=" + rule + (rule == "signed" ? "+sketch:1024" : ""));
  if (rule == "signed") config.cluster = spec("agglo:average,every=1");
  const Outcome outcome = run(config);
  CHECK(outcome.result.verdict == "ok");
  CHECK(outcome.result.reason == "");
  CHECK(outcome.events.at("examples.sent") > 50);
  CHECK(outcome.events.at("examples.received") == outcome.events.at("examples.sent"));
  CHECK(outcome.events.at("examples.settled") > 50);
  CHECK(outcome.example_bytes > 50 * 16 * 200);
  CHECK(outcome.result.test_acc_mean > 0.5);
}

TEST_CASE("no example is lost or owned twice when messages are lost and peers die") {
  const std::string protocol = GENERATE("pairwise", "push", "push-sum");
  const auto seed = GENERATE(0u, 1u, 2u);
  CAPTURE(protocol, seed);
  RunConfig config = base("hard:16,by=random");
  config.seed = seed;
  config.epochs = 12;
  config.protocol = spec(protocol);
  config.chaos = {"drop=15%", "kill=2@20%..40%", "kill=p05@50%..60%", "partition=p01@30%..45%",
                  "kill=p07@70%"};
  const Outcome outcome = run(config);
  CHECK(outcome.result.verdict == "ok");
  CHECK(outcome.result.reason == "");
  CHECK(outcome.events.at("examples.sent") > outcome.events.at("examples.received"));
  CHECK(outcome.events.at("examples.settled") > 20);
}

TEST_CASE("copies leave the owner what it has") {
  const Outcome outcome = run(base("hard:16,by=sender,mode=copy"));
  CHECK(outcome.result.verdict == "ok");
  CHECK(outcome.events.at("examples.received") > 50);
  CHECK(outcome.events.count("examples.settled") == 0);
}

TEST_CASE("a pool that passes examples on has one history whatever the threads") {
  RunConfig one = base("hard:16,by=receiver"), two = one;
  one.sampling = two.sampling = spec("hard:every=2");
  one.epochs = two.epochs = 4;
  two.threads = 3;
  const Outcome a = run(one), b = run(two);
  CHECK(a.result.digest == b.result.digest);
  CHECK(a.events == b.events);
  CHECK(a.events.at("examples.judged") > 8);
}

namespace {

// What the log says of single examples.
class Told final : public EventSink {
 public:
  void write(gossip::Time, std::string_view peer, const gossip::Event& event) override {
    const auto find = [&](const char* key) -> const gossip::FieldValue* {
      for (const gossip::Field& field : event.fields)
        if (field.key == key) return &field.value;
      return nullptr;
    };
    const auto list = [&](const char* key) {
      const auto* value = find(key);
      return value ? std::get<std::vector<std::int64_t>>(*value) : std::vector<std::int64_t>{};
    };
    if (event.name == "examples.received") {
      const auto ids = list("ids");
      if (static_cast<std::int64_t>(ids.size()) != std::get<std::int64_t>(*find("taken"))) ++wrong;
      for (const std::int64_t id : ids) came[std::string(peer)].insert(id);
    }
    if (event.name != "examples.learned") return;
    const auto ids = list("ids"), before = list("before"), after = list("after");
    if (ids.size() != before.size() || ids.size() != after.size()) ++wrong;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!came[std::string(peer)].contains(ids[i])) ++wrong;
      if (before[i] < 0 || before[i] > 1000 || after[i] < 0 || after[i] > 1000) ++wrong;
      gained += after[i] - before[i];
      ++lessons;
    }
  }
  std::map<std::string, std::set<std::int64_t>> came;
  std::int64_t gained = 0;
  int wrong = 0, lessons = 0;
};

}  // namespace

TEST_CASE("with --log-examples the log names them and what was learned, and nothing else differs") {
  RunConfig config = base("hard:16,by=random");
  config.epochs = 4;
  const auto silent = run(config).result.digest;
  config.log_examples = true;
  static const Dataset digits = load_dataset("synthetic:digits", 1);
  Simulation simulation(config, digits);
  Told told;
  CHECK(simulation.run(told, {}).digest == silent);
  CHECK(told.wrong == 0);
  CHECK(told.lessons > 100);
  CHECK(told.gained > 0);
}

TEST_CASE("what models agree on is trained on less often, at little loss") {
  RunConfig config = base("off");
  config.split = "iid";
  config.epochs = 16;
  const Outcome all = run(config);
  config.retire = spec("agreed:reserve=2,retire=40%,alike=1,every=2");
  const Outcome some = run(config);
  CHECK(some.retired > 100);
  CHECK(some.samples < all.samples * 9 / 10);
  CHECK(some.result.test_acc_mean > all.result.test_acc_mean - 0.03);
  CHECK(all.events.count("examples.judged") == 0);
}

TEST_CASE("wrong labels are found") {
  RunConfig config = base("off");
  config.split = "iid+noise:10%";
  config.epochs = 12;
  config.quarantine = spec("hard:confidence=0.2,spread=0.2,models=3,every=1");
  const Outcome outcome = run(config);
  CHECK(outcome.wrong > 100);
  CHECK(outcome.found > outcome.wrong / 2);
  CHECK(outcome.found > outcome.quarantined / 2);
}

TEST_CASE("models are traded now and then, and both sides move all the way") {
  RunConfig config = base("off");
  config.trade = spec("models:50%,horizon=1");
  const Outcome traded = run(config);
  config.trade = spec("off");
  const Outcome merged = run(config);
  CHECK(traded.result.verdict == "ok");
  CHECK(traded.result.digest != merged.result.digest);
  CHECK(traded.result.consensus_distance > merged.result.consensus_distance);
}
