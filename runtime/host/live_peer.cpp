// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/live_peer.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <utility>

#include "gossip/limits.hpp"
#include "kernels/core/errc.hpp"
#include "kernels/ops/gemm.hpp"
#include "runtime/config/protocol_kinds.hpp"
#include "runtime/host/build_codec.hpp"
#include "runtime/host/examples_log.hpp"
#include "runtime/host/log_lane.hpp"
#include "runtime/host/peer_files.hpp"
#include "runtime/host/peer_keeper.hpp"
#include "runtime/host/peer_security.hpp"
#include "runtime/launch/endpoint_file.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/log_end.hpp"
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
    : PeerSocket(config, parse_endpoint("--listen", config.listen), security_of(config)) {}

PeerSocket::PeerSocket(const RunConfig& config, const Endpoint& listen,
                       std::shared_ptr<Security> security) {
  refuse_open_address(config, listen);
  TransportOptions options;
  options.listen = listen;
  options.security = std::move(security);
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
      transport_(std::move(socket.transport)) {
  config_.device = work_.on_gpu() ? "cuda" : "cpu";  // what `auto` has come to, for the journal
}

void LivePeer::resume(const RunDir& run, const std::function<void(const std::string&)>& damaged) {
  resumes_ = true;
  const std::string name = gossip::peer_name(self_);
  from_ = newest_peer_checkpoint(run, name, damaged);
  if (!from_ && is_synchronous(config_.protocol.name)) {
    throw kernels::UsageError("--resume: " + name + " has no checkpoint in " + run.path() +
                              ", and --protocol " + config_.protocol.name +
                              " takes in nobody late; resume with the peers "
                              "that have one");
  }
}

std::uint64_t LivePeer::next_incarnation(const RunDir& run) const {
  const auto earlier = read_endpoint(run, gossip::peer_name(self_));
  return earlier ? earlier->incarnation + 1 : 0;
}

// A peer that goes on does so in its log too, and on its run clock.
std::unique_ptr<EventWriter> LivePeer::open_log(const RunDir& run, const PeerPlace& place,
                                                const gossip::Event& header) {
  const std::string name = gossip::peer_name(self_);
  if (from_) begin_at_ = gossip::Time(static_cast<std::int64_t>(earlier_.wall_s * 1e9));
  const auto tail = from_ ? find_log_end(run.peer_events(name), name) : std::nullopt;
  std::unique_ptr<EventWriter> writer;
  if (tail) {
    begin_at_ = std::max(begin_at_, tail->last_t);
    writer = std::make_unique<EventWriter>(run.peer_dir(name), tail->position);
  } else {
    if (place.incarnation > 0 || resumes_) keep_earlier_log(run, name);
    writer = std::make_unique<EventWriter>(run.peer_dir(name));
    writer->write_header(header);
  }
  if (!from_) return writer;
  const gossip::Counters& c = work_.counters();
  gossip::Event resumed("run.resumed");
  resumed.add("dir", "ckpt/" + CheckpointStore::name_of(from_->number));
  resumed.add("samples", static_cast<std::int64_t>(c.samples));
  resumed.add("steps", static_cast<std::int64_t>(c.steps));
  resumed.add("mseq", static_cast<std::int64_t>(c.merges_applied));
  resumed.add("inc", static_cast<std::int64_t>(place.incarnation));
  writer->write(begin_at_, name, resumed);
  return writer;
}

PeerResult LivePeer::run(const RunDir& run, const PeerPlace& given, const gossip::Event& header,
                         const std::string& version, const Outside& outside) {
  const std::string name = gossip::peer_name(self_);
  PeerPlace place = given;
  if (resumes_ && !from_) place.late = true;
  run.prepare_peer_dir(name);
  place_ = place;
  if (outside.notice && !work_.device_note().empty())
    outside.notice(name + ": " + work_.device_note());
  work_.take(place);
  if (from_) earlier_ = take_up(*from_, config_, work_);
  if (work_.example_bytes() > 0) recollect(run);
  write_endpoint(run, name, endpoint_here(announced(), place.incarnation, place.session));
  const std::unique_ptr<EventWriter> writer = open_log(run, place, header);
  if (place.incarnation > 0 || resumes_) ::unlink(run.peer_result(name).c_str());
  Hello hello;
  hello.run = place.pool.empty() ? run.name() : place.pool;
  hello.peer = self_;
  hello.peers = config_.peers;
  hello.layout = work_.layout();
  const gossip::CodecPlan* const codec = work_.codec();
  if (codec != nullptr) hello.codec = codec->text();
  hello.sketch_values = work_.sketch_values();
  hello.example_bytes = static_cast<std::uint32_t>(work_.example_bytes());
  hello.incarnation = place.incarnation;
  hello.nonce = fresh_nonce();
  hello.book = place.book;
  transport_->hand_over_by(work_.make_handover());
  transport_->start(std::move(hello), arrivals_, place.late || place.incarnation > 0,
                    place.admission, bounds_of(codec));
  PeerResult result = train(*writer, run, version, outside);
  if (const auto why = displaced()) {  // the files are another's now
    result.alive = false;
    result.reason = *why;
    return result;
  }
  result.peak_rss_bytes = peak_rss_bytes();
  write_peer_result(run, result);
  return result;
}

// What this peer has written down of its examples, before anybody could depend on it; and where to
// go on.
void LivePeer::recollect(const RunDir& run) {
  written_ = std::make_unique<LineFile>(examples_log(run, gossip::peer_name(self_)));
  if (!work_.recollect(written_->lines()))
    throw kernels::DamagedFile(written_->path(), 0, "has a line that is none of this peer's");
}

PeerResult LivePeer::train(EventWriter& writer, const RunDir& run, const std::string& version,
                           const Outside& outside) {
  const double cpu_before = cpu_seconds();
  const auto result_so_far = [&](const LiveOutcome& outcome) {
    PeerResult result = result_of(outcome);
    result.cpu_s = earlier_.cpu_s + cpu_seconds() - cpu_before;
    return result;
  };
  LogLane log(writer);
  LiveHooks hooks = hooks_of(outside);
  InputJournal journal(journal_path(run, gossip::peer_name(self_), place_.incarnation),
                       journal_head(run, version).json());
  hooks.journal = &journal;
  hooks.log_failure = [&] { return log.failure(); };
  if (written_) hooks.persist = [&](const std::string& line) { written_->append(line); };
  const auto checkpoint = [&](LiveHost& host) {
    journal.flush();  // what the checkpoint goes on from
    LiveOutcome so_far = host.so_far();
    so_far.alive = true;
    so_far.reason = "checkpoint";
    return peer_checkpoint(run, config_, version, result_so_far(so_far), work_, host,
                           so_far.before_end_game);
  };
  const std::string folder = run.peer_checkpoints(gossip::peer_name(self_));
  PeerKeeper keeper(folder, config_.checkpoint_every_s, gossip::peer_name(self_), checkpoint);
  bool has_told = false;
  hooks.boundary = [&](LiveHost& host, const LiveOrders& orders) {
    if (journal.failure() && !std::exchange(has_told, true))
      host.record_now(gossip::fault_event("journal failed", self_, *journal.failure(),
                                          "goes on; what follows cannot be replayed"));
    if (displaced()) return;
    const bool asked = outside.checkpoint_asked && outside.checkpoint_asked();
    keeper.at_boundary(host, work_.counters().steps, asked, orders.stop.has_value());
  };
  work_.model().keep_digests(digest_mode(config_.log_digests, DigestMode::automatic));
  LiveHost host(live_options(), work_.trainer(), work_.model(), work_.protocol(), *transport_,
                arrivals_, log, std::move(hooks));
  if (from_) take_up_host(*from_, host);
  from_.reset();
  LiveOutcome outcome = host.run();
  transport_->drain(gossip::limits::kDrainTimeout);
  PeerResult result = result_so_far(outcome);
  log.close();
  if (const auto failure = log.failure()) {
    result.alive = false;
    result.reason = "log failed: " + *failure;
  }
  keeper.wait();
  if (!result.alive || displaced()) return result;
  CheckpointStore(folder).write(work_.counters().steps, checkpoint(host));
  const bool changed = !outcome.before_end_game.empty();
  const std::span<const float> end = work_.trainer().read_weights();
  result.test = work_.evaluate(changed ? std::span<const float>(outcome.before_end_game) : end, 0);
  if (changed) result.test_final = work_.evaluate(end, 0);
  return result;
}

JournalHead LivePeer::journal_head(const RunDir& run, const std::string& version) const {
  JournalHead head;
  head.run = run.name();
  head.peer = gossip::peer_name(self_);
  head.git = version;
  head.blas = kernels::blas_description();
  head.device = work_.device();
  head.incarnation = place_.incarnation;
  head.late = place_.late;
  head.at_start = place_.at_start;
  head.config = computed_config(config_);
  if (written_) head.written = written_->lines().size();
  if (!from_) return head;
  try {
    gossip::Archive host(from_->state.at("host"), {});
    host("journal", head.resumes.emplace());
  } catch (const std::exception&) {
    head.resumes.emplace();  // an earlier hearsay's: no journal reaches it, and the replay says so
  }
  return head;
}

LiveOptions LivePeer::live_options() const {
  LiveOptions options;
  options.self = self_;
  options.seed = config_.seed;
  options.epochs = config_.epochs;
  options.eval_every_epochs = parse_number("--eval-every", config_.eval_every.name);
  options.eval_examples = parse_count("--eval-every", config_.eval_every.arg("n").value_or("0"));
  options.begin_at = begin_at_;
  options.incarnation = place_.incarnation;
  return options;
}

LiveHooks LivePeer::hooks_of(const Outside& outside) {
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
  };
  if (outside.status) {
    hooks.status = [&](const PeerStatus& status) {
      PeerStatus all = status;  // of all sessions
      all.payload_bytes += earlier_.payload_bytes;
      all.wire_bytes += earlier_.wire_bytes;
      outside.status(all);
    };
  }
  hooks.notice = outside.notice;
  return hooks;
}

PeerResult LivePeer::result_of(const LiveOutcome& outcome) const {
  PeerResult result;
  result.name = gossip::peer_name(self_);
  result.alive = outcome.alive;
  result.reason = outcome.reason;
  result.shard = work_.shard_examples();
  result.counters = work_.counters();
  result.examples = work_.tally();
  result.communities = community_text(work_.protocol().communities());
  const TransportMeter meter = transport_->meter();
  result.payload_bytes = meter.payload_bytes_sent;
  result.wire_bytes = meter.wire_bytes_sent;
  if (work_.example_bytes() > 0) result.example_bytes = meter.example_bytes_sent;
  result.io_cpu_s = meter.io_cpu_s;
  if (meter.frames_handed_over > 0) result.frames_handed_over = meter.frames_handed_over;
  result.wall_s = outcome.wall_s;
  result.train_s = outcome.train_s;
  earlier_.add_to(result);
  return result;
}

}  // namespace hearsay::runtime
