// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/bench_mix.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <utility>

#include "gossip/protocols/gossip_peer.hpp"
#include "merge/policies/ema.hpp"
#include "runtime/host/host_model.hpp"
#include "runtime/host/thread_lane.hpp"
#include "runtime/sim/sim_host.hpp"
#include "runtime/sim/vector_trainer.hpp"

namespace hearsay::runtime {
namespace {

using kernels::PeerId;

constexpr std::size_t kValues = 200;      // of a vector: V then hardly depends on which pair meets
constexpr double kEpochsBetween = 200.0;  // mini-batches between a peer's merges
constexpr double kRestartBelow = 1e-3;    // share of V at which a trial ends, far above rounding

gossip::ExchangeKind kind_of(const std::string& protocol) {
  if (protocol == "push") return gossip::ExchangeKind::push;
  return protocol == "pairwise" ? gossip::ExchangeKind::pairwise : gossip::ExchangeKind::push_sum;
}

struct Pool {
  Pool(gossip::ExchangeKind kind, std::uint32_t n, double alpha, double epochs_between,
       std::uint64_t seed)
      : lane(1) {
    const auto policy = std::make_shared<const merge::Policy>(
        std::make_unique<merge::Ema>(alpha, alpha, merge::Ema::Shape::constant),
        std::vector<std::unique_ptr<merge::Modifier>>{});
    const std::shared_ptr<const gossip::Topology> topology = gossip::make_uniform(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      gossip::GossipSettings s;
      s.self = PeerId(i);
      s.peers = n;
      s.seed = seed;
      s.batch = 1;
      s.blocks = {epochs_between, gossip::BlockMode::steps, 1, kBudget};
      s.exchange = kind;
      s.topology = topology;
      s.policy = policy;
      SimPeer peer;
      peer.trainer = std::make_unique<VectorTrainer>(kValues, seed, i);
      peer.model = std::make_unique<HostModel>(*peer.trainer, snapshots, 0, false);
      peer.protocol = std::make_unique<gossip::GossipPeer>(s);
      peers.push_back(std::move(peer));
    }
    options.seed = seed;
    options.epochs = kBudget;
    options.compute.kind =
        ComputeOptions::Kind::jitter;  // boundaries of different peers never coincide for long
    options.compute.cv = 0.3;
  }

  double disagreement() const {
    double total = 0.0;
    for (std::size_t k = 0; k < kValues; ++k) {
      double sum = 0.0, sum2 = 0.0;
      for (const SimPeer& peer : peers) {
        const double x = static_cast<double>(peer.trainer->weights()[k]);
        sum += x;
        sum2 += x * x;
      }
      total += sum2 - sum * sum / static_cast<double>(peers.size());
    }
    return total;
  }
  std::uint64_t merges_started() const {
    std::uint64_t merges = 0;
    for (const SimPeer& peer : peers) merges += peer.protocol->counters().merges_started;
    return merges;
  }

  static constexpr std::uint32_t kBudget = 1'000'000;  // never reached: the trial stops the run
  ThreadLane lane;
  SnapshotPool snapshots;
  std::vector<SimPeer> peers;
  SimOptions options;
};

// The peers of a pool at one table, without time: whoever is asked trains until it starts a merge,
// and every frame is delivered at once to a receiver at its next boundary. Merges then follow each
// other with initiators drawn evenly, which is what the formulas assume; on a clock, peers take
// turns and exchanges overlap.
class Table {
 public:
  explicit Table(Pool& pool) : pool_(pool) {
    for (std::uint32_t i = 0; i < pool.peers.size(); ++i) feed(i, gossip::input::Start{});
  }

  // Lets `initiator` train until its next merge and carries that merge out. Returns how many were
  // started: 1, rarely more, when a boundary granted to a receiver happens to end its own block.
  std::uint64_t one_merge(std::uint32_t initiator) {
    const std::uint64_t before = pool_.merges_started();
    while (frames_.empty()) feed(initiator, gossip::input::StepDone{{1, 0.0, 0, 0.0}});
    while (!frames_.empty()) {
      gossip::Frame frame = std::move(frames_.front());
      frames_.pop_front();
      const std::uint32_t to = frame.to.value;
      feed(to, gossip::input::FrameIn{std::move(frame)});
      feed(to, gossip::input::StepDone{{1, 0.0, 0, 0.0}});
    }
    return pool_.merges_started() - before;
  }

 private:
  void feed(std::uint32_t peer, const gossip::Input& input) {
    gossip::Actions actions;
    pool_.peers[peer].protocol->on(input, gossip::Time{0}, *pool_.peers[peer].model, actions);
    for (gossip::Action& action : actions) {
      if (auto* send = std::get_if<gossip::action::Send>(&action))
        frames_.push_back(std::move(send->frame));
    }
  }

  Pool& pool_;
  std::deque<gossip::Frame> frames_;
};

// Runs until `done` says so; `watch` sees the pool after every event.
void run_until(Pool& pool, const std::function<bool(const SimHost&)>& done) {
  NullSink sink;
  bool stop = false;
  SimHooks hooks;
  hooks.interrupted = [&] { return stop; };
  SimHost host(pool.options, pool.peers, pool.lane);
  host.after_event = [&](gossip::Time) { stop = stop || done(host); };
  host.run(sink, std::move(hooks));
}

}  // namespace

MixRow bench_contraction(const std::string& protocol, std::uint32_t peers, double alpha,
                         std::uint64_t merges, std::uint64_t seed) {
  const double n = peers;
  MixRow row{protocol, peers, alpha, 0, 0.0, 0.0};
  row.expected = protocol == "push" ? 2.0 * alpha * (1.0 - alpha * (n - 1.0) / n) / (n - 1.0)
                                    : 4.0 * alpha * (1.0 - alpha) / (n - 1.0);
  kernels::Rng initiators = kernels::Rng::stream(seed, "bench-initiators");
  double removed = 0.0;  // sum over events of 1 - V'/V
  for (std::uint64_t trial = 0; row.merges < merges; ++trial) {
    Pool pool(kind_of(protocol), peers, alpha, kEpochsBetween, seed * 1000 + trial);
    Table table(pool);
    const double start = pool.disagreement();
    double before = start;
    while (row.merges < merges && before > kRestartBelow * start) {
      row.merges += table.one_merge(initiators.below(peers));
      const double after = pool.disagreement();
      removed += 1.0 - after / before;
      before = after;
    }
  }
  row.measured = removed / static_cast<double>(row.merges);
  return row;
}

MassRow bench_mass(std::uint32_t peers, std::uint64_t merges, std::uint64_t seed) {
  // Merges every other mini-batch over a slow network, so that frames are in flight at every
  // instant.
  Pool pool(gossip::ExchangeKind::push_sum, peers, 0.5, 2.0, seed);
  pool.options.network.latency = std::chrono::milliseconds(3);
  std::vector<double> start(kValues, 0.0);
  for (const SimPeer& peer : pool.peers) {
    for (std::size_t k = 0; k < kValues; ++k)
      start[k] += static_cast<double>(peer.trainer->weights()[k]);
  }
  const double spread = std::sqrt(pool.disagreement() / (peers * static_cast<double>(kValues)));
  MassRow row{peers, 0, 0.0, 0.0};
  run_until(pool, [&](const SimHost& host) {
    double mass = 0.0;
    std::vector<double> sum(kValues, 0.0);
    const auto count = [&](double p, std::span<const float> z) {
      mass += p;
      for (std::size_t k = 0; k < kValues; ++k) sum[k] += p * static_cast<double>(z[k]);
    };
    for (const SimPeer& peer : pool.peers)
      count(peer.protocol->counters().mass, peer.trainer->weights());
    host.for_each_frame_in_flight([&](const gossip::Frame& frame) {
      if (frame.values) count(frame.mass, frame.values->span());
    });
    for (const SimPeer& peer :
         pool.peers) {  // and what waits in inboxes, which masses do not include yet
      peer.protocol->for_each_waiting(
          [&](const gossip::Frame& frame) { count(frame.mass, frame.values->span()); });
    }
    row.mass_error = std::max(row.mass_error, std::fabs(mass / peers - 1.0));
    for (std::size_t k = 0; k < kValues; ++k) {
      row.mean_error =
          std::max(row.mean_error, std::fabs(sum[k] / mass - start[k] / peers) / spread);
    }
    row.merges = pool.merges_started();
    return row.merges >= merges;
  });
  return row;
}

}  // namespace hearsay::runtime
