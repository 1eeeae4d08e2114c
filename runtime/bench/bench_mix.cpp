// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/bench_mix.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/bench/mix_pool.hpp"

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

// Runs until `done` says so; `watch` sees the pool after every event.
void run_until(MixPool& pool, const std::function<bool(const SimHost&)>& done) {
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
    MixPool pool({kind_of(protocol), peers, kValues, alpha, kEpochsBetween, seed * 1000 + trial});
    MixTable table(pool);
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
  MixPool pool({gossip::ExchangeKind::push_sum, peers, kValues, 0.5, 2.0, seed});
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
