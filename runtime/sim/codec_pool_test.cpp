// SPDX-License-Identifier: Apache-2.0
// Simulated pools of vectors that speak in a codec: what they keep, what they cost, and that they
// go on from their state as if nothing had been.
#include <sstream>

#include "gossip/protocols/testkit_codec.hpp"
#include "runtime/sim/checks/check.hpp"
#include "runtime/sim/testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::gossip::Archive;
using hearsay::gossip::Time;
using hearsay::gossip::testkit::HalfPlan;
using hearsay::kernels::PeerId;
using hearsay::runtime::testkit::vector_config;
using hearsay::runtime::testkit::VectorPool;

namespace {

struct TextSink final : EventSink {
  void write(Time t, std::string_view peer, const hearsay::gossip::Event& event) override {
    text << t.count() << ' ' << peer << ' ' << event.name << '\n';
  }
  std::ostringstream text;
};

std::shared_ptr<const HalfPlan> half(bool mirrors, float grid) {
  return std::make_shared<const HalfPlan>(VectorPool::kValues, mirrors, grid);
}

std::vector<double> mean_of(const VectorPool& pool) {
  std::vector<double> mean(VectorPool::kValues, 0.0);
  for (const SimPeer& peer : pool.peers) {
    const auto weights = peer.trainer->read_weights();
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += static_cast<double>(weights[i]) / static_cast<double>(pool.peers.size());
  }
  return mean;
}

double disagreement(const VectorPool& pool) {
  const std::vector<double> mean = mean_of(pool);
  double sum = 0.0;
  for (const SimPeer& peer : pool.peers) {
    const auto weights = peer.trainer->read_weights();
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double d = static_cast<double>(weights[i]) - mean[i];
      sum += d * d;
    }
  }
  return sum;
}

// Trainers are the caller's to keep.
void keep(VectorPool& pool, SimHost& host, Archive& archive, std::vector<std::vector<float>>& all) {
  archive("pool", host);
  for (const SimPeer& peer : pool.peers) {
    const auto weights = peer.trainer->read_weights();
    all.emplace_back(weights.begin(), weights.end());
  }
}

}  // namespace

TEST_CASE("a pool that speaks in a coarse codec keeps its mean where answers mirror") {
  auto config = vector_config(6, "pairwise");
  config.epochs = 400;
  VectorPool pool(config, 1, half(true, 0x1p-4f));
  const std::vector<double> before = mean_of(pool);
  const double apart = disagreement(pool);
  TextSink sink;
  SimChecks checks;
  const SimOutcome outcome = pool.run(
      sink,
      [&](SimHost& host) { host.after_event = [&](Time now) { checks.after_event(host, now); }; },
      [&](SimHost& host, Time now) { checks.at_end(host, now); });
  const std::vector<double> after = mean_of(pool);
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i] == Approx(before[i]).margin(2e-5));
  CHECK(disagreement(pool) < 1e-2 * apart);  // down to the grid
  CHECK(checks.breaches().empty());
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    const auto& counters = pool.peers[i].protocol->counters();
    CHECK(counters.merges_applied > 50);
    CHECK(counters.merges_refused == 0);
    // 130 bytes a message, of which at least one was sent for every merge.
    CHECK(outcome.peers[i].payload_bytes >= 130 * counters.merges_applied);
    CHECK(outcome.peers[i].payload_bytes % 130 == 0);
  }
}

TEST_CASE("pools that speak in a codec come together where nothing mirrors too") {
  const auto* protocol = GENERATE("pairwise", "push");
  CAPTURE(protocol);
  auto config = vector_config(5, protocol);
  config.epochs = 400;
  VectorPool pool(config, 1, half(false, 0x1p-10f));
  const double apart = disagreement(pool);
  TextSink sink;
  pool.run(sink);
  CHECK(disagreement(pool) < 1e-3 * apart);
}

TEST_CASE("pools come together though a fifth of all frames is lost, late or doubled") {
  const auto* protocol = GENERATE("pairwise", "push", "push-sum");
  CAPTURE(protocol);
  auto config = vector_config(6, protocol);
  config.epochs = 4000;
  config.chaos = {"drop=20%", "reorder=20%", "duplicate=20%"};
  const bool has_codec = config.protocol.name != "push-sum";
  VectorPool pool(config, 1, has_codec ? half(true, 0x1p-10f) : nullptr);
  const double apart = disagreement(pool);
  TextSink sink;
  SimChecks checks;
  const SimOutcome outcome = pool.run(
      sink,
      [&](SimHost& host) { host.after_event = [&](Time now) { checks.after_event(host, now); }; },
      [&](SimHost& host, Time now) { checks.at_end(host, now); });
  CHECK(disagreement(pool) < 1e-2 * apart);
  CHECK(checks.breaches().empty());  // frames, and push-sum's mass, which nothing may add to
  std::uint64_t frames = 0, bytes = 0;
  for (const PeerOutcome& peer : outcome.peers) bytes += peer.wire_bytes;
  for (const SimPeer& peer : pool.peers) frames += peer.protocol->counters().merges_applied;
  CHECK(frames > 200);
  CHECK(bytes < outcome.sent.bytes);  // what the network doubles, nobody has sent
}

TEST_CASE("a pool keeps to its bandwidth: fewer merges, no more bytes, and training goes on") {
  auto config = vector_config(4, "pairwise");
  config.epochs = 20'000;  // 20 s of virtual time
  VectorPool free(config);
  TextSink sink;
  const SimOutcome all = free.run(sink);
  config.bandwidth = "2kB/s";
  VectorPool bound(config);
  const SimOutcome some = bound.run(sink);
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    const double seconds = std::chrono::duration<double>(some.peers[i].ended).count();
    const double most = 2000.0 * (seconds + 3.0) + 2000.0;  // burst, credit; the end of the run
    CHECK(static_cast<double>(some.peers[i].wire_bytes) < most);
    CHECK(static_cast<double>(some.peers[i].wire_bytes) > 0.5 * 2000.0 * seconds);
    CHECK(all.peers[i].wire_bytes > 10 * some.peers[i].wire_bytes);
    const auto& counters = bound.peers[i].protocol->counters();
    CHECK(counters.merges_applied > 20);
    CHECK(counters.merges_skipped > counters.merges_started);
    CHECK(counters.steps == 20'000);
  }
}

TEST_CASE("a pool that speaks in a codec goes on from its state as if it had never stopped") {
  const auto* protocol = GENERATE("pairwise", "push");
  const bool mirrors = GENERATE(false, true);
  CAPTURE(protocol, mirrors);
  auto config = vector_config(5, protocol);
  config.net = parse_spec("--net", "link:bandwidth=20kb/s,latency=3ms");  // much is on its way
  VectorPool whole(config, 1, half(mirrors, 0x1p-6f));
  Archive kept;
  std::vector<std::vector<float>> weights;
  TextSink sink;
  std::size_t position = 0, in_flight = 0;
  int events = 0;
  whole.run(sink, [&](SimHost& host) {
    host.after_event = [&](Time) {
      if (++events < 200 || !weights.empty()) return;
      host.for_each_frame_in_flight(
          [&](const hearsay::gossip::Frame& frame) { in_flight += frame.packed != nullptr; });
      if (in_flight == 0) return;
      keep(whole, host, kept, weights);
      position = sink.text.str().size();
    };
  });
  REQUIRE(weights.size() == 5);

  VectorPool again(config, 1, half(mirrors, 0x1p-6f));
  TextSink rest;
  again.run(rest, [&](SimHost& host) {
    for (std::size_t i = 0; i < weights.size(); ++i)
      std::copy(weights[i].begin(), weights[i].end(), again.peers[i].trainer->weights().begin());
    Archive archive(kept.json(), kept.arrays());
    archive.of_model(VectorPool::kValues);
    archive("pool", host);
  });
  CHECK(again.digest() == whole.digest());
  CHECK(rest.text.str() == sink.text.str().substr(position));
}
