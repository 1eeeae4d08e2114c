// SPDX-License-Identifier: Apache-2.0
// Whole pools that find out who is alike, with real training on generated digits: two populations
// whose labels contradict each other are told apart and learn well; equal peers stay one community;
// nothing of it depends on threads.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/sim/digits_pool.hpp"

using namespace hearsay::runtime;
using namespace hearsay::runtime::digits_pool;
namespace gossip = hearsay::gossip;

namespace {

using Outcome = Ended;

RunConfig base(const char* split, const char* cluster) {
  RunConfig c = digits_pool::base();
  c.split = split;
  c.cluster = spec(cluster);
  return c;
}

constexpr const char* kTwo = "iid+rotate:groups=2,by=5";

}  // namespace

TEST_CASE("two populations are told apart, and learn better than when all merge with all") {
  const Outcome found = run(base(kTwo, "agglo"));
  const Outcome blind = run(base(kTwo, "off"));
  REQUIRE(found.result.communities);
  CHECK(found.result.communities->count == 2);
  CHECK(found.result.communities->agreed == 8);
  CHECK(found.result.communities->labels == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(found.result.communities->rand_index == 1.0);
  CHECK(found.events.at("community.changed") >= 8);
  CHECK(found.events.at("cluster.updated") > 8);
  CHECK(found.result.test_acc_mean > blind.result.test_acc_mean + 0.02);
  CHECK_FALSE(blind.result.communities);
  CHECK(blind.events.count("cluster.updated") == 0);
}

TEST_CASE("likeness as weight of a merge, and soft choice, keep two populations apart") {
  const Outcome blind = run(base(kTwo, "off"));
  RunConfig weighed = base(kTwo, "agglo:average,every=1,e=1");  // partners without regard to it
  weighed.merge = spec("ema:0.5+alike:g=6");
  RunConfig soft = base(kTwo, "agglo:average,every=1,soft=0.1");
  for (RunConfig* config : {&weighed, &soft}) {
    config->epochs = 12;
    const Outcome a = run(*config);
    CHECK(a.result.test_acc_mean > blind.result.test_acc_mean + 0.02);
    config->threads = 3;
    CHECK(run(*config).result.digest == a.result.digest);
  }
}

TEST_CASE("peers of one population stay one community") {
  const Outcome found = run(base("iid", "agglo"));
  REQUIRE(found.result.communities);
  CHECK(found.result.communities->count == 1);
  CHECK_FALSE(found.result.communities->rand_index);
}

TEST_CASE("given communities need no sketches: a message is as long as without") {
  const Outcome given = run(base(kTwo, "given:groups=2,e=0"));
  REQUIRE(given.result.communities);
  CHECK(given.result.communities->rand_index == 1.0);
  std::uint64_t payload = 0, wire = 0;
  for (const PeerResult& peer : given.result.peers) {
    payload += peer.payload_bytes;
    wire += peer.wire_bytes;
  }
  CHECK(wire < payload + payload / 100);
}

TEST_CASE(
    "a pool that finds communities has one history whatever the threads, and counts its bytes") {
  RunConfig one = base(kTwo, "agglo:average,every=1"), two = one;
  one.epochs = two.epochs = 3;
  two.threads = 2;
  const Outcome a = run(one), b = run(two);
  CHECK(a.result.digest == b.result.digest);
  CHECK(a.events == b.events);
  std::uint64_t payload = 0, wire = 0;
  for (const PeerResult& peer : a.result.peers) {
    payload += peer.payload_bytes;
    wire += peer.wire_bytes;
  }
  CHECK(wire > payload + 2060);  // a sketch at least
}
