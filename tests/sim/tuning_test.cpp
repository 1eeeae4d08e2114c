// SPDX-License-Identifier: Apache-2.0
// Whole pools that learn their own settings, with real training on generated digits: from a
// learning rate that is far too low they find a higher one; one history whatever the threads.
#include <cmath>
#include <map>
#include <string>

#include "tests/catch.hpp"
#include "tests/sim/digits_pool.hpp"

using namespace hearsay::runtime;
using namespace hearsay::runtime::digits_pool;
namespace gossip = hearsay::gossip;

namespace {

RunConfig base(const char* tune, const char* optimizer) {
  RunConfig c = digits_pool::base();
  c.tune = spec(tune);
  c.optimizer = spec(optimizer);
  c.schedule = spec("constant");
  c.merge_every = spec("0.1");
  return c;
}

// The learning-rate factor of each peer when the log last told of it.
class Factors final : public EventSink {
 public:
  void write(gossip::Time, std::string_view peer, const gossip::Event& event) override {
    if (event.name != "settings.drawn" && event.name != "settings.copied") return;
    ++told;
    for (const gossip::Field& field : event.fields)
      if (field.key == "lr") lr[std::string(peer)] = std::get<double>(field.value);
  }
  std::map<std::string, double> lr;
  int told = 0;
};

}  // namespace

TEST_CASE("a pool whose learning rate is far too low learns a higher one, and learns more") {
  const auto slow = [](const char* tune) {  // models that merge more often hardly differ
    RunConfig c = base(tune, "sgd:lr=0.001");
    c.merge_every = spec("0.5");
    c.epochs = 20;
    return c;
  };
  const Ended fixed = run(slow("off"));
  const RunConfig config = slow("population:lr");
  static const Dataset digits = load_dataset("synthetic:digits", 1);
  Simulation simulation(config, digits);
  Factors factors;
  const PoolResult learned = simulation.run(factors, {});
  REQUIRE(factors.lr.size() == 8);
  CHECK(factors.told > 16);
  double sum = 0.0;
  for (const auto& [peer, factor] : factors.lr) sum += std::log(factor) / std::log(1.2);
  CHECK(sum / 8.0 > 1.0);  // steps up, on average
  CHECK(learned.test_loss_mean < fixed.result.test_loss_mean);
}

TEST_CASE("a pool that learns its settings has one history whatever the threads") {
  RunConfig one = base("population:lr,alpha", "sgd:lr=0.05,momentum=0.9,clip=1"), two = one;
  one.epochs = two.epochs = 3;
  two.threads = 3;
  const Ended a = run(one), b = run(two);
  CHECK(a.result.digest == b.result.digest);
  CHECK(a.events == b.events);
  CHECK(a.events.at("settings.drawn") == 8);
  CHECK(a.events.at("settings.copied") > 0);
  CHECK(a.result.digest != run([&] {
                             RunConfig off = one;
                             off.tune = spec("off");
                             return off;
                           }())
                               .result.digest);
}

TEST_CASE("settings are learned where requests say them, and of words that are known") {
  for (const char* tune : {"population:speed", "population:lr,lr", "population:lr,step=1",
                           "population:lr,eager=-1", "grid", "off:lr", "population:lr+x"}) {
    CAPTURE(tune);
    CHECK_THROWS(run(base(tune, "sgd:lr=0.05")));
  }
  RunConfig push = base("population:lr", "sgd:lr=0.05");
  push.protocol = spec("push");
  CHECK_THROWS(run(push));
}
