// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/ancestry.hpp"

#include <numeric>
#include <string>
#include <vector>

#include "kernels/core/rng.hpp"
#include "runtime/graph/graph_testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

// A pool in which everybody trains one sample a nanosecond, carried out by the definition on plain
// vectors and written to a log at the same time. Exchanges overlap, answers come late.
class BruteForce {
 public:
  BruteForce(int peers, std::uint64_t seed)
      : x(peers, std::vector<double>(peers)),
        rng_(hearsay::kernels::Rng::stream(seed, "ancestry")),
        asked_(peers, -1),
        mseq_(peers),
        seq_(peers) {
    for (int p = 0; p < peers; ++p) logs.join(0, name(p));
  }
  static std::string name(int p) { return "p0" + std::to_string(p); }

  void train(int ns) {
    t_ += ns;
    for (std::size_t p = 0; p < x.size(); ++p) x[p][p] += ns;
  }
  void ask(int p, int q) {
    logs.choose(t_, name(p), name(q)).send(t_, name(p), name(q), seq_[p]);
    flying_.push_back({p, q, seq_[p]++, false, x[p], 0.5});
    asked_[p] = q;
    own_.resize(x.size());
    own_[p] = x[p];
  }
  void push(int p, int q) {
    logs.choose(t_, name(p), name(q)).send(t_, name(p), name(q), seq_[p]);
    flying_.push_back({p, q, seq_[p]++, true, x[p], 0.3});
  }
  void deliver(std::size_t i) {
    const Flying f = flying_[i];
    flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<double> before = x[f.to];
    const bool is_answer = f.is_answer;
    const std::vector<double>& base = is_answer ? own_[f.to] : before;
    for (std::size_t k = 0; k < before.size(); ++k) x[f.to][k] += f.alpha * (f.x[k] - base[k]);
    logs.merge(t_, name(f.to), name(f.from), f.seq, ++mseq_[f.to], f.alpha);
    if (is_answer) asked_[f.to] = -1;
    if (is_answer || f.is_push) return;
    logs.send(t_, name(f.to), name(f.from), seq_[f.to]);
    flying_.push_back({f.to, f.from, seq_[f.to]++, false, before, f.alpha, true});
  }
  void act() {
    train(1 + static_cast<int>(rng_.below(50)));
    const auto n = static_cast<std::uint32_t>(x.size());
    const int p = static_cast<int>(rng_.below(n));
    const int q = (p + 1 + static_cast<int>(rng_.below(n - 1))) % static_cast<int>(n);
    const auto kind = rng_.below(4);
    if (kind == 0 && !pushes && asked_[p] < 0) return ask(p, q);
    if (kind == 0 && pushes) return push(p, q);
    if (kind == 2) logs.block(t_, name(p), static_cast<int>(t_), static_cast<int>(t_), 1);
    if (!flying_.empty()) deliver(rng_.below(static_cast<std::uint32_t>(flying_.size())));
  }
  void end() {
    while (!flying_.empty()) deliver(0);
    for (std::size_t p = 0; p < x.size(); ++p)
      logs.block(t_, name(static_cast<int>(p)), static_cast<int>(t_), static_cast<int>(t_), 1);
  }

  std::vector<std::vector<double>> x;  // [peer][shard]
  GraphLogs logs;
  bool pushes = false;  // else exchanges

 private:
  struct Flying {
    int from, to, seq;
    bool is_push;
    std::vector<double> x;
    double alpha;
    bool is_answer = false;
  };
  std::int64_t t_ = 0;
  hearsay::kernels::Rng rng_;
  std::vector<Flying> flying_;
  std::vector<int> asked_, mseq_, seq_;
  std::vector<std::vector<double>> own_;
};

double total(const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

}  // namespace

TEST_CASE("ancestry agrees with vectors carried along by hand", "[graph]") {
  const auto seed = GENERATE(range(0, 12));
  CAPTURE(seed);
  BruteForce pool(2 + seed % 5, static_cast<std::uint64_t>(seed));
  pool.pushes = seed % 2 == 1;
  for (int i = 0; i < 300; ++i) pool.act();
  pool.end();
  const MergeGraph graph = pool.logs.graph();
  REQUIRE(graph.gaps.empty());
  const Ancestry ancestry = find_ancestry(graph);
  for (std::size_t p = 0; p < pool.x.size(); ++p) {
    std::vector<double> expected = pool.x[p];
    for (double& entry : expected) entry = std::max(0.0, entry);
    const Ancestry::Model& model = ancestry.models[p];
    CHECK(model.samples == Approx(total(expected)).epsilon(1e-9));
    for (std::size_t k = 0; k < expected.size(); ++k)
      CHECK(model.shares[k] == Approx(expected[k] / total(expected)).margin(1e-9));
    CHECK(total(model.shares) == Approx(1.0));
  }
}

TEST_CASE("symmetric exchanges keep the samples of the pool, also when they overlap", "[graph]") {
  BruteForce pool(5, 99);
  for (int i = 0; i < 500; ++i) pool.act();
  pool.end();
  const MergeGraph graph = pool.logs.graph();
  REQUIRE(graph.merges() > 50);
  double in_models = 0.0, trained = 0.0;
  for (const auto& x : pool.x) in_models += total(x);
  for (const MergeGraph::Peer& peer : graph.peers) trained += static_cast<double>(peer.trained);
  CHECK(in_models == Approx(trained).epsilon(1e-9));
  const Ancestry ancestry = find_ancestry(graph);
  double followed = 0.0;
  for (const Ancestry::Model& model : ancestry.models) followed += model.samples;
  CHECK(followed == Approx(trained).epsilon(1e-6));  // entries below 0 are cut
}

TEST_CASE("two peers that meet once have half of each other", "[graph]") {
  GraphLogs logs;
  logs.join(0, "p00").join(0, "p01").block(10, "p00", 300).block(10, "p01", 100);
  const Ancestry ancestry = find_ancestry(logs.exchange(10, "p00", "p01").graph());
  for (const auto& model : ancestry.models) {
    CHECK(model.samples == Approx(200.0));
    CHECK(model.shares[0] == Approx(0.75));
    CHECK(model.effective_shards() == Approx(1.0 / (0.75 * 0.75 + 0.25 * 0.25)));
  }
  CHECK(ancestry.pool.shares[1] == Approx(0.25));
}

TEST_CASE("an untrained model is all initial, a stranger's is unknown", "[graph]") {
  GraphLogs logs;
  logs.join(0, "p00").join(0, "p01").block(10, "p01", 100).merge(10, "p01", "p07", 3, 1, 0.25);
  const Ancestry ancestry = find_ancestry(logs.graph());
  CHECK(ancestry.models[0].initial == 1.0);
  CHECK(ancestry.models[1].unknown == Approx(0.25));
  CHECK(ancestry.models[1].shares[1] == Approx(0.75));
  CHECK(ancestry.models[2].unknown == 1.0);
}

TEST_CASE("where every step is averaged all models are the same", "[graph]") {
  GraphLogs logs;
  logs.join(0, "p00").join(0, "p01").block(10, "p00", 300).block(10, "p01", 100);
  const Ancestry ancestry = find_ancestry(logs.graph(), Averaging::of_every_step);
  for (const auto& model : ancestry.models) CHECK(model.shares[0] == Approx(0.75));
}
