// SPDX-License-Identifier: Apache-2.0
// Outer steps against the formulas of their papers, what they keep, and when the momentum begins
// again.
#include "gossip/outer/outer_optimizer.hpp"

#include <cmath>
#include <vector>

#include "gossip/protocols/testkit.hpp"
#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using testkit::TinyModel;
using Kind = OuterSettings::Kind;
using Vector = std::vector<float>;

namespace {

OuterSettings settings(Kind kind, double rate, double gamma, double mu, std::uint32_t n = 1,
                       double c = 0.0) {
  return {kind, rate, gamma, mu, n, c};
}

struct Peer {
  Peer(const OuterSettings& s, Vector start) : model(std::move(start)), outer(s) {
    outer.begin(model);
  }
  void train(const Vector& by) {
    for (std::size_t i = 0; i < by.size(); ++i) model.w[i] += by[i];
  }
  Vector slow() const { return {outer.slow().begin(), outer.slow().end()}; }
  Vector momentum() const { return {outer.momentum().begin(), outer.momentum().end()}; }

  TinyModel model;
  OuterOptimizer outer;
};

// Both tell each other what they are now, and both move.
void exchange(Peer& a, Peer& b, double alpha = 0.5) {
  const auto from_a = a.outer.to_say(a.model), from_b = b.outer.to_say(b.model);
  a.outer.merge(alpha, *from_b, from_a.get(), a.model);
  b.outer.merge(alpha, *from_a, from_b.get(), b.model);
}

void check_near(const Vector& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == Approx(expected[i]).margin(1e-5));
}

// Mean square of disagreement left after so many exchanges of random pairs of 64, as a share; with
// momentum and without training: m = mu m + gamma (x_j - x_i) / 2, x += m.
double left_after(double gamma, double mu, int exchanges) {
  constexpr std::uint32_t kPeers = 64;
  auto rng = hearsay::kernels::Rng::stream(9, "outer-test");
  std::vector<double> x(kPeers), m(kPeers);
  for (double& each : x) each = rng.normal();
  const auto spread = [&] {
    double mean = 0.0, sum = 0.0;
    for (const double each : x) mean += each / kPeers;
    for (const double each : x) sum += (each - mean) * (each - mean);
    return sum;
  };
  const double before = spread();
  for (int i = 0; i < exchanges; ++i) {
    const std::uint32_t a = rng.below(kPeers), b = (a + 1 + rng.below(kPeers - 1)) % kPeers;
    const double half = gamma * (x[b] - x[a]) / 2;
    m[a] = mu * m[a] + half;
    m[b] = mu * m[b] - half;
    x[a] += m[a];
    x[b] += m[b];
  }
  return spread() / before;
}

}  // namespace

TEST_CASE("nesterov is SNOO's step: momentum of a peer's own blocks, from its slow weights") {
  Peer peer(settings(Kind::nesterov, 0.7, 1, 0.9), {1, -2});
  double slow[2] = {1, -2}, m[2] = {0, 0};
  for (const Vector& block : {Vector{0.5f, 1}, Vector{-0.25f, 2}, Vector{0, 0}}) {
    peer.train(block);
    CHECK_FALSE(peer.outer.block_ended(peer.model));
    for (int i = 0; i < 2; ++i) {
      m[i] = 0.9 * m[i] + block[static_cast<std::size_t>(i)];
      slow[i] += 0.7 * (block[static_cast<std::size_t>(i)] + 0.9 * m[i]);
    }
    check_near(peer.model.w, {slow[0], slow[1]});
    CHECK(peer.model.w == peer.slow());
  }
  // A merge moves both alike: what the block has done so far stays what it was.
  peer.train({1, 0});
  const auto in = peer.model.copy(Vector{5, 5});
  peer.outer.merge(0.5, *in, nullptr, peer.model);
  check_near(peer.model.w, {(slow[0] + 1 + 5) / 2, (slow[1] + 5) / 2});
  check_near(peer.slow(), {(slow[0] + 1 + 5) / 2 - 1, (slow[1] + 5) / 2});
}

TEST_CASE("noloco from one model a partner is the step from slow weights and deltas of both") {
  const double a = 0.7, gamma = 0.4, mu = 0.5;
  Peer first(settings(Kind::noloco, a, gamma, mu), {1, 2}),
      second(settings(Kind::noloco, a, gamma, mu), {-3, 0.5f});
  double slow[2][2] = {{1, 2}, {-3, 0.5}}, m[2][2] = {};
  for (int round = 0; round < 4; ++round) {
    const Vector moves[2] = {{0.25f, -1}, {static_cast<float>(round), 0.125f}};
    first.train(moves[0]);
    second.train(moves[1]);
    exchange(first, second);
    double then[2][2];
    std::copy(&slow[0][0], &slow[0][0] + 4, &then[0][0]);
    for (int i = 0; i < 2; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double delta = (double(moves[0][at]) + moves[1][at]) / 2;
      const double mean = (then[0][i] + then[1][i]) / 2;
      for (int p = 0; p < 2; ++p) {
        m[p][i] = mu * m[p][i] + a * delta + gamma * (mean - then[p][i]);
        slow[p][i] += m[p][i];
      }
    }
    check_near(first.model.w, {slow[0][0], slow[0][1]});
    check_near(second.model.w, {slow[1][0], slow[1][1]});
  }
  // With a = gamma a partner is told the weights themselves.
  Peer plain(settings(Kind::noloco, 0.7, 0.7, mu), {1, 2});
  plain.train({3, 4});
  const auto said = plain.outer.to_say(plain.model);
  CHECK(Vector(said->span().begin(), said->span().end()) == plain.model.w);
}

TEST_CASE("an exchange moves the mean of slow weights by deltas and momentum alone") {
  const auto kind = GENERATE(Kind::noloco, Kind::delayed);
  Peer a(settings(kind, 0.7, 0.6, 0.3, 3), {4}), b(settings(kind, 0.7, 0.6, 0.3, 3), {-9});
  a.train({1});
  b.train({-0.5f});
  exchange(a, b);
  // Between request and answer a trains on and merges with somebody else; what it has said of
  // itself stays what its answer counts from.
  const auto asked = a.outer.to_say(a.model);
  const double before = double(a.slow()[0]) + b.slow()[0];
  const double kept =
      kind == Kind::noloco ? 0.3 * (double(a.momentum()[0]) + b.momentum()[0]) : 0.0;
  const auto answer = b.outer.to_say(b.model);
  b.outer.merge(0.5, *asked, answer.get(), b.model);
  a.train({2});
  a.outer.merge(0.5, *answer, asked.get(), a.model);
  CHECK(double(a.slow()[0]) + b.slow()[0] == Approx(before + kept + 0.7 * 2).margin(1e-5));
  CHECK(a.model.w == a.slow());
}

TEST_CASE("delayed takes plain steps, and at every n-th the momentum of all of them") {
  const double lr = 0.5, mu = 0.8, c = 0.125;
  const std::uint32_t n = 3;
  Peer peer(settings(Kind::delayed, lr, 1, mu, n, c), {0});
  double slow = 0, m = 0, buffer = 0;
  for (int k = 1; k <= 7; ++k) {
    const double block = 0.25 * k, in = 3.0 - k, base = 1.0;
    peer.train({static_cast<float>(block)});
    const auto theirs = peer.model.copy(Vector{static_cast<float>(in)});
    const auto own = peer.model.copy(Vector{static_cast<float>(base)});
    peer.outer.merge(0.5, *theirs, own.get(), peer.model);
    const double g = block + 0.5 * (in - base);
    buffer += g;
    if (k % n == 0) {
      m = mu * m + buffer;
      buffer = 0;
      slow += lr * (g + (1 - c * n + c) * mu * m);
    } else {
      slow += lr * (g + c * mu * m);
    }
    check_near(peer.model.w, {slow});
  }
}

TEST_CASE("disagreement dies out where gamma < 2 (1 - mu^2), and grows beyond") {
  for (const double mu : {0.0, 0.3, 0.5, 0.7}) {
    CAPTURE(mu);
    const double edge = 2.0 * (1.0 - mu * mu);
    CHECK(settings(Kind::noloco, 0.7, 0.9 * edge, mu).contracts());
    CHECK_FALSE(settings(Kind::noloco, 0.7, 1.1 * edge, mu).contracts());
    CHECK(left_after(0.8 * edge, mu, 6400) < 1e-3);
    CHECK(left_after(1.2 * edge, mu, 6400) > 1e3);
  }
}

TEST_CASE("momentum beyond ten recent deltas begins again from nothing, and says so") {
  Peer peer(settings(Kind::noloco, 0.7, 0.7, 0.99), {0, 0});
  const auto far = peer.model.copy(Vector{100, 0});
  peer.train({1, 0});
  CHECK_FALSE(peer.outer.merge(1.0, *far, nullptr, peer.model));  // momentum was 0
  CHECK(peer.momentum()[0] > 50);
  peer.train({1, 0});
  const auto own = peer.model.snapshot();
  const auto restart = peer.outer.merge(0.5, *own, own.get(), peer.model);
  REQUIRE(restart);
  CHECK(restart->momentum_norm > 50);
  CHECK(restart->delta_norm == Approx(1));
  CHECK(peer.momentum()[0] == 0.7f);  // of this step's delta alone
}

TEST_CASE("a peer at rest merges as if it had no outer optimiser") {
  Peer peer(settings(Kind::noloco, 0.7, 0.3, 0.5), {2, 4});
  peer.train({1, 1});
  peer.outer.rest();
  const auto said = peer.outer.to_say(peer.model);
  CHECK(Vector(said->span().begin(), said->span().end()) == peer.model.w);
  const auto in = peer.model.copy(Vector{5, 5});
  peer.outer.merge(0.5, *in, nullptr, peer.model);
  CHECK(peer.model.w == Vector{4, 5});
}

TEST_CASE("an outer optimiser goes on from its state, and takes none that is not its own") {
  const auto s = settings(Kind::delayed, 0.7, 1, 0.9, 3);
  Peer peer(s, {1, 2, 3});
  const auto in = peer.model.copy(Vector{4, 4, 4});
  for (int i = 0; i < 4; ++i) {
    peer.train({0.5f, 0, 1});
    peer.outer.merge(0.5, *in, nullptr, peer.model);
  }
  Archive kept;
  kept("outer", peer.outer);
  Peer again(s, peer.model.w);
  Archive from(kept.json(), kept.arrays());
  from("outer", again.outer);
  for (int i = 0; i < 4; ++i) {
    for (Peer* each : {&peer, &again}) {
      each->train({0.25f, 1, 0});
      each->outer.merge(0.5, *in, nullptr, each->model);
    }
    CHECK(peer.model.w == again.model.w);
    CHECK(peer.momentum() == again.momentum());
  }
  for (const char* key : {"slow", "m", "buffer", "gathered"}) {
    CAPTURE(key);
    Archive::Json damaged = kept.json();
    damaged["outer"][key] = std::string(key) == "gathered" ? Archive::Json(7) : Archive::Json();
    Archive bad(damaged, kept.arrays());
    CHECK_THROWS_AS(bad("outer", again.outer), ArchiveFault);
  }
}
