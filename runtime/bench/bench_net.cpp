// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/bench_net.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "kernels/ops/merge_ops.hpp"
#include "runtime/bench/distribution.hpp"
#include "runtime/bench/net_processes.hpp"
#include "runtime/bench/net_ring.hpp"
#include "runtime/bench/net_workload.hpp"

namespace hearsay::runtime {
namespace {

using gossip::FrameKind;
using kernels::Buffer;
using net_workload::Rounds;

constexpr Rounds kPings{500, 5000};

// Frames of a stream that are under way at once: fewer than a slow receiver may have waiting.
std::uint32_t burst_of(std::size_t values) { return values > 4'000'000 ? 4 : 12; }

NetReport ping_pong(NetPeer& peer) {
  NetReport report;
  const std::uint32_t other = 1 - peer.self();
  const auto turn = [&](std::uint32_t k) { report.wrong += peer.next().seq == k ? 0 : 1; };
  peer.meet();
  for (std::uint32_t k = 0; k < kPings.total(); ++k) {
    if (peer.self() != 0) {
      turn(k);
      peer.send(FrameKind::ack, other, k);
      continue;
    }
    const double round_trip = seconds_of([&] {
      peer.send(FrameKind::ack, other, k);
      turn(k);
    });
    if (k >= kPings.warm_up) report.seconds.push_back(round_trip / 2);
  }
  return report;
}

enum class Sends { itself, a_copy };

// Until the io lane has sent them and let them go.
void wait_until_sent(const std::shared_ptr<merge::Snapshot>& weights) {
  while (weights.use_count() > 1) std::this_thread::yield();
  std::atomic_thread_fence(std::memory_order_acquire);
}

NetReport swap_weights(NetPeer& peer, std::size_t values, Sends sends) {
  NetReport report;
  const Rounds rounds = net_workload::rounds_for(values);
  const std::shared_ptr<merge::Snapshot> weights = peer.snapshots().blank(values);
  for (std::uint32_t k = 0; k < rounds.total(); ++k) {
    net_workload::fill(weights->values.span(), peer.self(), k);
    peer.meet();
    const double seconds = seconds_of([&] {
      merge::SnapshotRef sent = weights;
      if (sends == Sends::a_copy) sent = peer.snapshots().copy(weights->span());
      peer.send(FrameKind::push, 1 - peer.self(), k, std::move(sent));
      const gossip::Frame frame = peer.next();
      wait_until_sent(weights);
      kernels::merge_blend(0.5f, weights->values.span(), frame.values->span(), {}, {});
    });
    report.wrong += net_workload::wrong_means(weights->span(), k);
    if (k >= rounds.warm_up) report.seconds.push_back(seconds);
  }
  report.digest = kernels::digest(weights->span());
  return report;
}

NetReport stream_weights(NetPeer& peer, std::size_t values) {
  NetReport report;
  const Rounds rounds = net_workload::rounds_for(values);
  const std::uint32_t burst = burst_of(values);
  Buffer<float> weights(values);
  for (std::uint32_t k = 0; k < rounds.total(); ++k) {
    net_workload::fill(weights.span(), 0, k);
    if (peer.self() == 0) {
      const merge::SnapshotRef copy = peer.snapshots().copy(weights.span());
      peer.meet();
      const double seconds = seconds_of([&] {
        for (std::uint32_t i = 0; i < burst; ++i) peer.send(FrameKind::push, 1, i, copy);
        peer.next();
      });
      if (k >= rounds.warm_up) report.seconds.push_back(seconds / burst);
      continue;
    }
    peer.meet();
    std::vector<gossip::Frame> frames;
    while (frames.size() < burst) frames.push_back(peer.next());
    peer.send(FrameKind::ack, 0, k);
    for (const gossip::Frame& frame : frames)
      report.wrong += net_workload::wrong_copies(frame.values->span(), 0, k);
  }
  return report;
}

// Copying as many bytes within one process, the same number of times.
double copy_seconds(std::size_t values) {
  Buffer<float> from(values), to(values);
  Distribution times;
  const Rounds rounds = net_workload::rounds_for(values);
  for (std::uint32_t k = 0; k < rounds.total(); ++k) {
    net_workload::fill(from.span(), 0, k);
    const double seconds =
        seconds_of([&] { std::memcpy(to.data(), from.data(), values * sizeof(float)); });
    if (k >= rounds.warm_up) times.add(seconds);
  }
  return times.at(0.5);
}

NetRow row_of(const char* op, std::uint32_t processes, std::size_t values,
              const BenchSecurity& security, const NetWork& work) {
  NetRow row;
  row.op = op;
  row.processes = processes;
  row.values = values;
  if (values > 0) row.copy_s = copy_seconds(values);
  const NetReport report =
      run_processes(processes, std::max<std::size_t>(values, 1), work, security);
  Distribution times;
  for (const double s : report.seconds) times.add(s);
  row.samples = times.count();
  row.p50_s = times.at(0.5);
  row.p99_s = times.at(0.99);
  row.wrong = report.wrong;
  row.digest = report.digest;
  row.bytes = values * sizeof(float);
  row.wire_bytes = row.bytes + gossip::Frame::kHeaderBytes;
  return row;
}

}  // namespace

NetRow bench_latency(const BenchSecurity& security) {
  return row_of("latency", 2, 0, security, ping_pong);
}

NetRow bench_swap(std::size_t values, const BenchSecurity& security) {
  return row_of("swap", 2, values, security,
                [=](NetPeer& peer) { return swap_weights(peer, values, Sends::itself); });
}

NetRow bench_exchange(std::size_t values, const BenchSecurity& security) {
  return row_of("exchange", 2, values, security,
                [=](NetPeer& peer) { return swap_weights(peer, values, Sends::a_copy); });
}

NetRow bench_stream(std::size_t values, const BenchSecurity& security) {
  return row_of("stream", 2, values, security,
                [=](NetPeer& peer) { return stream_weights(peer, values); });
}

NetRow bench_allreduce(std::size_t values, std::uint32_t processes, const BenchSecurity& security) {
  NetRow row = row_of("allreduce", processes, values, security,
                      [=](NetPeer& peer) { return ring_all_reduce(peer, values); });
  // Every process sends 2 (n - 1) slices of values / n.
  const std::uint64_t hops = 2 * (processes - 1);
  row.bytes = row.bytes * hops / processes;
  row.wire_bytes = row.bytes + hops * gossip::Frame::kHeaderBytes;
  return row;
}

}  // namespace hearsay::runtime
