// SPDX-License-Identifier: Apache-2.0
// Numbers worked out by hand for pools of two parameters.
#include "runtime/host/pool_result.hpp"

#include <csignal>

#include "tests/catch.hpp"

using namespace hearsay;
using namespace hearsay::runtime;

namespace {

// Three live peers around the mean (2, 2) and one that was lost. Shards 10, 20, 40, 10.
struct Pool {
  std::vector<std::vector<float>> models{{0, 0}, {2, 0}, {4, 6}}, finals{{1, 1}, {2, 2}, {3, 2}};
  std::vector<std::pair<std::size_t, std::vector<float>>> asked;  // evaluations: as whom, of what

  std::vector<EndedPeer> ended(bool end_game = false) {
    std::vector<EndedPeer> peers(4);
    const std::size_t shards[] = {10, 20, 40, 10};
    const double ages[] = {5, 10, 40, 20};  // 0.5 + 0.5 + 1 + 2 = 4 epochs
    const std::uint64_t merges[] = {1, 1, 2, 4}, gaps[] = {5, 40, 10, 30};
    for (std::size_t i = 0; i < 4; ++i) {
      PeerResult& known = peers[i].known;
      known.name = "p0" + std::to_string(i);
      known.alive = i < 3;
      known.reason = i < 3 ? "finished" : "killed";
      known.shard = shards[i];
      known.counters.age_samples_sum = ages[i];
      known.counters.merges_applied = merges[i];
      known.counters.longest_gap_samples = gaps[i];
      if (i == 3) continue;
      peers[i].group = i == 2 ? 1 : 0;
      peers[i].counted = models[i];
      peers[i].final_weights = end_game ? finals[i] : models[i];
    }
    return peers;
  }

  // Accuracy: the first weight in tenths, and 1 % more for each place in the pool.
  EvaluatePeer evaluate() {
    return [this](std::size_t peer, std::span<const float> weights) {
      asked.push_back({peer, {weights.begin(), weights.end()}});
      const double accuracy = 0.1 * weights[0] + 0.01 * static_cast<double>(peer);
      return Evaluation{1.0 - accuracy, accuracy, 100};
    };
  }
};

PoolResult summary(Pool& pool, const std::vector<EndedPeer>& peers, bool end_game = false) {
  PoolResult result;
  summarise(peers, end_game, pool.evaluate(), result);
  return result;
}

RunConfig quorum(std::uint32_t min_peers) {
  RunConfig config;
  config.peers = 4;
  config.min_peers = min_peers;
  return config;
}

PoolResult judged(const RunConfig& config, PoolResult result, const HowItEnded& how = {}) {
  judge(config, how, result);
  return result;
}

}  // namespace

TEST_CASE("a pool's means, spread and consensus are over the live peers' own models", "[host]") {
  Pool pool;
  const PoolResult result = summary(pool, pool.ended());
  CHECK(result.lost == 1);
  REQUIRE(result.peers.size() == 4);
  CHECK(result.peers[1].test.accuracy == Approx(0.21));
  CHECK(result.peers[3].test.examples == 0);
  CHECK(result.test_acc_min == Approx(0.0));
  CHECK(result.test_acc_max == Approx(0.42));
  CHECK(result.test_acc_mean == Approx((0.0 + 0.21 + 0.42) / 3));
  CHECK(result.test_loss_mean == Approx(1.0 - 0.63 / 3));
  CHECK(result.consensus_distance == Approx((8.0 + 4.0 + 20.0) / 3));
  CHECK(result.mean_merge_age_epochs == Approx(4.0 / 8));
  CHECK(result.peers[0].longest_merge_gap_epochs == Approx(0.5));
  CHECK(result.peers[1].longest_merge_gap_epochs == Approx(2.0));
  CHECK_FALSE(result.test_acc_final_mean);
  CHECK_FALSE(result.training_share);
  CHECK_FALSE(result.io_cpu_share);
  CHECK_FALSE(result.peak_rss_bytes_mean);
}

TEST_CASE("the averaged model is tested once for every group of a rotated split", "[host]") {
  Pool pool;
  const PoolResult result = summary(pool, pool.ended());
  const std::vector<float> mean{2, 2};
  REQUIRE(pool.asked.size() == 5);
  CHECK(pool.asked[3] == std::pair(std::size_t{0}, mean));
  CHECK(pool.asked[4] == std::pair(std::size_t{2}, mean));
  CHECK(result.test_acc_averaged_model == Approx((0.20 + 0.22) / 2));
}

TEST_CASE("the digest is over final weights in id order, the lost left out", "[host]") {
  Pool pool;
  kernels::DigestBuilder own, final;
  for (const auto& model : pool.models) own.add(model);
  for (const auto& model : pool.finals) final.add(model);
  CHECK(summary(pool, pool.ended()).digest == own.finish());
  CHECK(summary(pool, pool.ended(true), true).digest == final.finish());
}

TEST_CASE("an end game has its own keys and leaves test_acc and consensus alone", "[host]") {
  Pool pool;
  const PoolResult without = summary(pool, pool.ended());
  const PoolResult with = summary(pool, pool.ended(true), true);
  CHECK(with.test_acc_mean == without.test_acc_mean);
  CHECK(with.consensus_distance == without.consensus_distance);
  CHECK(with.test_acc_averaged_model == without.test_acc_averaged_model);
  REQUIRE(with.test_acc_final_mean);
  CHECK(*with.test_acc_final_mean == Approx((0.10 + 0.21 + 0.32) / 3));
  CHECK(*with.test_acc_final_min == Approx(0.10));
  CHECK(*with.test_acc_final_max == Approx(0.32));
}

TEST_CASE("an evaluation that a peer made itself is kept", "[host]") {
  Pool pool;
  auto peers = pool.ended(true);
  peers[1].known.test = {0.5, 0.9, 1000};
  peers[1].known.test_final = Evaluation{0.25, 0.95, 1000};
  const PoolResult result = summary(pool, peers, true);
  CHECK(result.test_acc_max == 0.9);
  CHECK(*result.test_acc_final_max == 0.95);
  CHECK(pool.asked.size() == 6);  // own and final of p00 and p02, mean of two groups
}

TEST_CASE("what peers measured is shared out over those that measured it", "[host]") {
  Pool pool;
  auto peers = pool.ended();
  peers[0].known.wall_s = 10.0;
  peers[0].known.train_s = 9.0;
  peers[0].known.cpu_s = 8.0;
  peers[0].known.io_cpu_s = 1.0;
  peers[0].known.peak_rss_bytes = 100;
  peers[1].known.wall_s = 30.0;
  peers[1].known.train_s = 15.0;
  peers[1].known.cpu_s = 12.0;
  peers[1].known.io_cpu_s = 0.0;
  peers[1].known.peak_rss_bytes = 300;
  peers[2].known.wall_s = 1000.0;  // without train_s it says nothing
  const PoolResult result = summary(pool, peers);
  CHECK(*result.training_share == Approx(24.0 / 40.0));
  CHECK(*result.io_cpu_share == Approx(1.0 / 20.0));
  CHECK(*result.peak_rss_bytes_mean == Approx(200.0));
}

TEST_CASE("a pool of the dead has a digest of nothing and no means", "[host]") {
  Pool pool;
  std::vector<EndedPeer> peers(4);
  const PoolResult result = summary(pool, peers);
  CHECK(result.lost == 4);
  CHECK(pool.asked.empty());
  CHECK(result.digest == kernels::DigestBuilder().finish());
  CHECK(judged(quorum(1), result).exit_code == 3);
}

TEST_CASE("votes heard are those of peers that stopped by convergence", "[host]") {
  Pool pool;
  auto peers = pool.ended();
  peers[0].known.counters.votes_heard = 4;  // heard them, but had finished
  peers[1].known.counters.votes_heard = 3;
  peers[1].known.reason = "converged";
  PoolResult result = judged(quorum(1), summary(pool, peers));
  CHECK(result.votes_heard == 3);
  CHECK(result.verdict == "ok");
  CHECK(result.reason == "stopped with 3 of 4 votes");
  peers[0].known.reason = "converged";
  CHECK(judged(quorum(1), summary(pool, peers)).reason == "converged (all 4 votes)");
}

TEST_CASE("the verdict is the first that applies", "[host]") {
  Pool pool;
  PoolResult result = summary(pool, pool.ended());
  result.faults_never_fired = {"kill=p01@90%"};
  result.target_best = 0.5;
  RunConfig config = quorum(4);
  config.target = Target{"test_acc", 0.75};
  const auto check = [&](const PoolResult& r, const char* verdict, int code) {
    CHECK(r.verdict == verdict);
    CHECK(r.exit_code == code);
  };
  check(judged(config, result, {.stuck = true, .signal = SIGINT}), "interrupted", 130);
  check(judged(config, result, {.signal = SIGTERM}), "interrupted", 143);
  check(judged(config, result, {.stuck = true}), "stuck", 1);
  check(judged(config, result), "lost quorum", 3);
  CHECK(judged(config, result).reason == "3 of 4 peers alive, --min-peers 4");
  config.min_peers = 3;
  check(judged(config, result), "target missed", 1);
  CHECK(judged(config, result).reason == "test_acc reached 0.500000, not 0.750000");
  result.target_reached_s = 2.0;
  check(judged(config, result), "fault never fired", 1);
  CHECK(judged(config, result).reason ==
        "--chaos kill=p01@90% never happened: the run ended before");
  result.faults_never_fired.clear();
  check(judged(config, result), "ok", 0);
  CHECK(judged(config, result).reason == "target reached");
}

TEST_CASE("peers' reasons decide: interrupted, stuck, time, diverged", "[host]") {
  Pool pool;
  PoolResult result = summary(pool, pool.ended());
  result.peers[1].reason = "interrupted";
  CHECK(judged(quorum(1), result).verdict == "ok");  // one of them, not the pool
  PoolResult all = result;
  for (auto& peer : all.peers) peer.reason = "interrupted";
  CHECK(judged(quorum(1), all).exit_code == 130);
  for (const bool alive : {true, false}) {
    result.peers[1].alive = alive;
    result.peers[1].reason = "stuck";
    CHECK(judged(quorum(1), result).verdict == "stuck");
  }
  result.peers[1].reason = "time";
  CHECK(judged(quorum(1), result).verdict == "ok");
  CHECK(judged(quorum(1), result).reason == "time limit reached");
  result.peers[3].reason = "diverged";
  CHECK(judged(quorum(4), result).reason.find("; 1 diverged (loss not finite)") !=
        std::string::npos);
}
