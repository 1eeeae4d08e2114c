// SPDX-License-Identifier: Apache-2.0
// Peers that are killed and come back: with the weights of another, in the same run.
#include <algorithm>
#include <sstream>

#include "runtime/sim/testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::gossip::Time;
using hearsay::kernels::PeerId;
using namespace std::chrono_literals;

namespace {

struct TextSink final : EventSink {
  void write(Time t, std::string_view peer, const hearsay::gossip::Event& event) override {
    text << t.count() << ' ' << peer << ' ' << event.name << '\n';
    ++count[std::string(peer) + " " + std::string(event.name)];
  }
  std::ostringstream text;
  std::map<std::string, int> count;
};

RunConfig config_with(const char* protocol, const char* fault) {
  auto config = testkit::vector_config(5, protocol);
  config.epochs = 400;
  config.compute = parse_spec("--compute", "jitter:cv=0.3,step=50ms");
  config.chaos = {fault};
  return config;
}

}  // namespace

TEST_CASE("a peer that was killed comes back with another's weights and finishes") {
  const auto* protocol = GENERATE("pairwise", "push", "push-sum");
  const auto* fault = GENERATE("kill=p02@20%..50%", "kill=p02@3s..3.000001s");
  CAPTURE(protocol, fault);
  testkit::VectorPool pool(config_with(protocol, fault));
  TextSink sink;
  std::uint32_t life = 0;
  const SimOutcome outcome =
      pool.run(sink, nullptr, [&](SimHost& host, Time) { life = host.life(PeerId(2)); });
  CHECK_FALSE(outcome.stuck);
  CHECK(life == 1);
  CHECK(outcome.faults_never_fired.empty());
  for (const auto& peer : outcome.peers) {
    CHECK(peer.alive);
    CHECK(peer.reason == "finished");
  }
  CHECK(sink.count["p02 state.adopted"] == 1);
  CHECK(pool.peers[2].protocol->counters().steps == 400);
  CHECK(pool.peers[2].protocol->counters().inherited_samples > 0);
  CHECK(pool.peers[2].protocol->counters().merges_applied > 0);
}

TEST_CASE("rebirths are part of a seed's history") {
  const auto run = [](std::size_t threads) {
    testkit::VectorPool pool(config_with("pairwise", "kill=2@20%..40%"), threads);
    TextSink sink;
    pool.run(sink);
    return sink.text.str() + pool.digest();
  };
  const std::string first = run(1);
  CHECK(first == run(1));
  CHECK(first == run(3));
}

TEST_CASE("a pool told to stop while a peer is away, or just back, ends") {
  auto config = config_with("pairwise", "kill=p01@30%..60%");
  config.time_s = GENERATE(7.0, 10.0, 13.0, 19.9);
  testkit::VectorPool pool(config);
  TextSink sink;
  const SimOutcome outcome = pool.run(sink);
  CHECK_FALSE(outcome.stuck);
  CHECK(outcome.virtual_time < 60s);
}

TEST_CASE("a second death of the same peer is another life") {
  auto config = config_with("push", "kill=p03@10%..20%");
  config.chaos.push_back("kill=p03@50%..60%");
  testkit::VectorPool pool(config);
  TextSink sink;
  const SimOutcome outcome = pool.run(sink);
  CHECK(outcome.peers[3].alive);
  CHECK(sink.count["p03 state.adopted"] == 2);
}
