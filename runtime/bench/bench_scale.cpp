// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/bench_scale.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <sys/resource.h>

#include "runtime/bench/mix_pool.hpp"

namespace hearsay::runtime {
namespace {

constexpr double kAlpha = 0.5;
// A receiver's granted boundaries then hardly ever start merges of their own.
constexpr double kEpochsAtTable = 50.0;
constexpr double kEpochsOnClock = 20.0;
constexpr double kRestartBelow = 1e-3;  // share of V at which vectors are drawn anew
constexpr double kLookEveryCycles = 0.5;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

// Adds up how V falls over a run whose vectors are drawn anew whenever they have come together.
class Contraction {
 public:
  Contraction(MixPool& pool, std::uint64_t seed) : pool_(pool), seed_(seed) { restart(0); }

  void look(std::uint64_t merges) {
    if (static_cast<double>(merges - looked_at_) < kLookEveryCycles * pool_.mix.peers) return;
    looked_at_ = merges;
    const double now = pool_.disagreement();
    if (now > kRestartBelow * start_) return;
    logs_ += std::log(start_ / now);
    counted_ += merges - begun_at_;
    restart(merges);
  }
  // Mean -ln V'/V a merge; of a run too short for a whole trial, of what there is.
  double a_merge(std::uint64_t merges) {
    if (counted_ == 0) {
      logs_ = std::log(start_ / pool_.disagreement());
      counted_ = merges - begun_at_;
    }
    return counted_ > 0 ? logs_ / static_cast<double>(counted_) : 0.0;
  }

 private:
  void restart(std::uint64_t merges) {
    pool_.scatter(seed_++);
    start_ = pool_.disagreement();
    begun_at_ = looked_at_ = merges;
  }

  MixPool& pool_;
  std::uint64_t seed_, begun_at_ = 0, looked_at_ = 0, counted_ = 0;
  double start_ = 0.0, logs_ = 0.0;
};

void finish(ScaleRow& row, MixPool& pool, Contraction& contraction,
            std::chrono::steady_clock::time_point begin) {
  row.applied = pool.merges_applied();
  row.measured = contraction.a_merge(row.merges) * (row.peers - 1.0);
  row.wall_s = seconds_since(begin);
  row.peak_bytes = peak_bytes();
}

}  // namespace

ScaleRow bench_scale_table(std::uint32_t peers, std::size_t values, std::uint64_t merges,
                           std::uint64_t seed) {
  const auto begin = std::chrono::steady_clock::now();
  ScaleRow row{"table", peers, values};
  MixPool pool({gossip::ExchangeKind::pairwise, peers, values, kAlpha, kEpochsAtTable, seed});
  MixTable table(pool);
  Contraction contraction(pool, seed);
  kernels::Rng initiators = kernels::Rng::stream(seed, "bench-initiators");
  while (row.merges < merges) {
    row.merges += table.one_merge(initiators.below(peers));
    contraction.look(row.merges);
  }
  // -ln(1 - x) of the share x that one merge removes.
  const double share = 4.0 * kAlpha * (1.0 - kAlpha) / (peers - 1.0);
  row.expected = row.expected_most = -std::log1p(-share) * (peers - 1.0);
  finish(row, pool, contraction, begin);
  return row;
}

ScaleRow bench_scale_clock(std::uint32_t peers, std::size_t values, std::uint64_t merges,
                           std::uint64_t seed) {
  const auto begin = std::chrono::steady_clock::now();
  ScaleRow row{"clock", peers, values};
  MixPool pool({gossip::ExchangeKind::pairwise, peers, values, kAlpha, kEpochsOnClock, seed});
  Contraction contraction(pool, seed);
  SimHost host(pool.options, pool.peers, pool.lane);
  std::uint64_t events = 0;
  gossip::Time now{0};
  host.after_event = [&](gossip::Time at) {
    now = at;
    if (++events % peers != 0) return;  // counting merges looks at every peer
    row.merges = pool.merges_started();
    contraction.look(row.merges);
    if (row.merges >= merges) host.abandon();
  };
  NullSink sink;
  host.run(sink, {});
  row.expected = 1.0;
  row.expected_most = std::log(2.0) + 0.5;
  row.virtual_s = std::chrono::duration<double>(now).count();
  finish(row, pool, contraction, begin);
  return row;
}

}  // namespace hearsay::runtime
