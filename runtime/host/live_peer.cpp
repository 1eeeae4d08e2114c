// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/live_peer.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <utility>

#include "gossip/limits.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/host/log_lane.hpp"
#include "runtime/host/peer_files.hpp"
#include "runtime/launch/endpoint_file.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/net/own_address.hpp"

namespace hearsay::runtime {
namespace {

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

double cpu_seconds() {  // of this process, all threads
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

// The log of an earlier start stays, as events.0.jsonl, events.1.jsonl, ...
void keep_earlier_log(const RunDir& run, const std::string& name) {
  const std::string log = run.peer_events(name);
  for (int i = 0; ::access(log.c_str(), F_OK) == 0; ++i) {
    const std::string kept = run.peer_dir(name) + "/events." + std::to_string(i) + ".jsonl";
    if (::access(kept.c_str(), F_OK) == 0) continue;
    if (std::rename(log.c_str(), kept.c_str()) != 0) return;  // the writer says what is wrong
  }
}

std::uint64_t fresh_nonce() {
  std::random_device device;
  const std::uint64_t high = device();
  return (high << 32 | device()) | 1;  // 0 means none
}

}  // namespace

PeerSocket::PeerSocket(const RunConfig& config)
    : PeerSocket(config, parse_endpoint("--listen", config.listen)) {}

PeerSocket::PeerSocket(const RunConfig& config, const Endpoint& listen) {
  TransportOptions options;
  options.listen = listen;
  if (!config.announce.empty()) {
    options.announce = parse_endpoint("--announce", config.announce);
    if (is_wildcard(options.announce->host)) {
      throw kernels::UsageError("--announce: " + config.announce +
                                " leads nowhere; name an address that others can dial");
    }
  }
  options.blank = [pool = snapshots](std::size_t values) mutable { return pool.blank(values); };
  transport = std::make_unique<Transport>(std::move(options));
}

LivePeer::LivePeer(const RunConfig& config, kernels::PeerId self, PeerSocket socket)
    : config_(config),
      self_(self),
      work_(config, self, socket.snapshots),
      transport_(std::move(socket.transport)) {}

PeerResult LivePeer::run(const RunDir& run, const PeerPlace& place, const gossip::Event& header,
                         const std::string& version, const Outside& outside) {
  const std::string name = gossip::peer_name(self_);
  const std::string folder = run.prepare_peer_dir(name);
  write_endpoint(run, name, endpoint_here(announced(), place.incarnation, place.session));
  if (place.incarnation > 0) {
    keep_earlier_log(run, name);
    ::unlink(run.peer_result(name).c_str());
  }
  work_.take(place);
  EventWriter writer(folder);
  writer.write_header(header);
  Hello hello;
  hello.run = place.pool.empty() ? run.name() : place.pool;
  hello.peer = self_;
  hello.peers = config_.peers;
  hello.layout = work_.layout();
  hello.incarnation = place.incarnation;
  hello.nonce = fresh_nonce();
  hello.book = place.book;
  transport_->start(std::move(hello), arrivals_, place.late || place.incarnation > 0,
                    place.admission);

  const double cpu_before = cpu_seconds();
  LiveOutcome outcome;
  double cpu_s = 0.0;
  {
    LogLane log(writer);
    outcome = train(
        log, [&] { return log.failure(); }, run, version, outside);
    transport_->drain(gossip::limits::kDrainTimeout);
    cpu_s = cpu_seconds() - cpu_before;
    log.close();
    if (const auto failure = log.failure()) {
      outcome.alive = false;
      outcome.reason = "log failed: " + *failure;
    }
  }
  PeerResult result = result_of(outcome);
  result.cpu_s = cpu_s;
  if (const auto why = displaced()) {  // the files are another's now
    result.alive = false;
    result.reason = *why;
    return result;
  }
  if (result.alive) {
    const bool changed = !outcome.before_end_game.empty();
    result.test = work_.evaluate(
        changed ? std::span<const float>(outcome.before_end_game) : work_.trainer().weights(), 0);
    if (changed) result.test_final = work_.evaluate(work_.trainer().weights(), 0);
    write_peer_model(run, result, version, work_.layout(),
                     {work_.trainer().weights(), outcome.before_end_game});
  }
  result.peak_rss_bytes = peak_rss_bytes();
  write_peer_result(run, result);
  return result;
}

LiveOutcome LivePeer::train(EventSink& log,
                            const std::function<std::optional<std::string>()>& log_failure,
                            const RunDir& run, const std::string& version, const Outside& outside) {
  LiveOptions options;
  options.self = self_;
  options.seed = config_.seed;
  options.epochs = config_.epochs;
  options.eval_every_epochs = parse_number("--eval-every", config_.eval_every.name);
  options.eval_examples = parse_count("--eval-every", config_.eval_every.arg("n").value_or("0"));
  LiveHooks hooks;
  hooks.evaluate = [&](std::span<const float> weights, std::size_t limit) {
    return work_.evaluate(weights, limit);
  };
  hooks.poll = [&](LiveOrders& orders) {
    if (outside.poll) outside.poll(orders);
    if (auto why = displaced(); why && !orders.stop) {
      orders.stop = std::move(*why);
      orders.leaves = true;
    }
    if (!outside.checkpoint_asked || !outside.checkpoint_asked()) return;
    LiveOutcome so_far;
    so_far.alive = true;
    so_far.reason = "checkpoint";
    write_peer_model(run, result_of(so_far), version, work_.layout(),
                     {work_.trainer().weights(), {}});
  };
  hooks.status = outside.status;
  hooks.notice = outside.notice;
  hooks.log_failure = log_failure;
  LiveHost host(options, work_.trainer(), work_.model(), work_.protocol(), *transport_, arrivals_,
                log, std::move(hooks));
  return host.run();
}

PeerResult LivePeer::result_of(const LiveOutcome& outcome) const {
  PeerResult result;
  result.name = gossip::peer_name(self_);
  result.alive = outcome.alive;
  result.reason = outcome.reason;
  result.shard = work_.shard_examples();
  result.counters = work_.counters();
  const TransportMeter meter = transport_->meter();
  result.payload_bytes = meter.payload_bytes_sent;
  result.wire_bytes = meter.wire_bytes_sent;
  result.io_cpu_s = meter.io_cpu_s;
  result.wall_s = outcome.wall_s;
  result.train_s = outcome.train_s;
  return result;
}

}  // namespace hearsay::runtime
