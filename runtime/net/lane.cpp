// SPDX-License-Identifier: Apache-2.0
// Links: queues, connections coming and going, the end. The coroutines are in lane_tasks.cpp.
#include "runtime/net/lane.hpp"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include "gossip/event.hpp"
#include "gossip/limits.hpp"
#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/net/own_address.hpp"

namespace hearsay::runtime {
namespace {

namespace asio = boost::asio;
namespace limits = gossip::limits;
using asio::ip::tcp;
using boost::system::error_code;

// Opens, binds and listens; a port in use is the operator's business.
void listen_on(tcp::acceptor& acceptor, asio::io_context& io, const Endpoint& address,
               int buffer_bytes) {
  const auto refuse = [&](const error_code& error) {
    throw kernels::UsageError("--listen: " + address.text() + ": " + error.message() +
                              "; take another port, or port 0 for any free one");
  };
  error_code error;
  const auto found = tcp::resolver(io).resolve(address.host, std::to_string(address.port),
                                               tcp::resolver::passive, error);
  if (error) refuse(error);
  // A name may have addresses of both families, of which this machine may have one.
  for (const auto& candidate : found) {
    const tcp::endpoint endpoint = candidate.endpoint();
    error_code ignored;
    acceptor.close(ignored);
    if (acceptor.open(endpoint.protocol(), error)) continue;
    // A port whose last connections wait for their time to run out may be taken again.
    if (acceptor.set_option(tcp::acceptor::reuse_address(true), error)) continue;
    if (buffer_bytes > 0) {
      acceptor.set_option(asio::socket_base::receive_buffer_size(buffer_bytes), ignored);
      acceptor.set_option(asio::socket_base::send_buffer_size(buffer_bytes), ignored);
    }
    if (acceptor.bind(endpoint, error)) continue;
    if (!acceptor.listen(asio::socket_base::max_listen_connections, error)) return;
  }
  refuse(error);
}

}  // namespace

Transport::Lane::Lane(TransportOptions options)
    : options_(std::move(options)), work_(io_.get_executor()), acceptor_(io_), tick_(io_) {
  listen_on(acceptor_, io_, options_.listen, options_.socket_buffer_bytes);
  announced_ = announced_address(options_.announce, listening(), machine_addresses());
}

Transport::Lane::~Lane() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

Endpoint Transport::Lane::listening() const {
  error_code error;
  const auto endpoint = acceptor_.local_endpoint(error);
  return {endpoint.address().to_string(), endpoint.port()};
}

void Transport::Lane::start(Hello self, TransportEvents& events, bool greets, Admission admission,
                            gossip::wire::CodecBounds codec) {
  HS_CHECK(!thread_.joinable() && self.peer.value < self.peers);
  self_ = std::move(self);
  if (handover_) self_.handover = handover_->offer();
  admission_ = std::move(admission);
  codec_ = codec;
  events_ = &events;
  for (std::uint32_t i = 0; i < self_.peers; ++i) {
    Link& link = links_.emplace_back();
    link.peer = kernels::PeerId(i);
    link.redial_wait = limits::kRedialFirst;
  }
  for (const BookEntry& entry : self_.book) {
    HS_CHECK(entry.peer.value < self_.peers);
    if (entry.peer != self_.peer)
      learn_address(links_[entry.peer.value], entry.incarnation, entry.address);
  }
  spawn(accept_loop());
  spawn(watch());
  if (greets) spawn(greet());
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "hearsay-io");
    io_.run();
    note_cpu_time();
  });
}

void Transport::Lane::note_cpu_time() {
  timespec t{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0)
    meter_.io_cpu_ns = 1'000'000'000ull * t.tv_sec + t.tv_nsec;
}

void Transport::Lane::spawn(Task task) {
  asio::co_spawn(io_, std::move(task), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);  // no memory, or our bug: the process ends
  });
}

void Transport::Lane::post(gossip::Frame frame, Delivery delivery) {
  asio::post(io_, [this, out = Outgoing(std::move(frame), delivery)]() mutable {
    enqueue(std::move(out));
  });
}

void Transport::Lane::enqueue(Outgoing out) {
  const gossip::Frame& frame = out.frame;
  HS_CHECK(frame.to.value < links_.size() && frame.to != self_.peer);
  Link& link = links_[frame.to.value];
  if (draining_) {
    ++meter_.frames_dropped;
    return;
  }
  const bool bounded = frame.carries_weights() && frame.kind != gossip::FrameKind::chunk;
  if (bounded && link.weights_waiting >= limits::kSendFrames) {
    ++meter_.frames_dropped;
    if (!std::exchange(link.dropping, true)) {
      events_->fault("send queue full", gossip::peer_name(link.peer) +
                                            " takes weights too slowly; " +
                                            "newer ones are dropped until it has caught up");
    }
    return;
  }
  if (bounded) ++link.weights_waiting;
  link.queue.push_back(std::move(out));
  if (!link.open.empty()) {
    link.open.front()->wake().cancel();
  } else if (!link.dialling) {
    if (link.address.host.empty()) return unreachable(link, "no address yet");
    if (Connection::Clock::now() < link.redial_at)
      return unreachable(link, "no connection; it is dialled again later");
    link.dialling = true;
    spawn(dial(link));
  }
}

void Transport::Lane::drop_queue(Link& link) {
  meter_.frames_dropped += link.queue.size();
  left_unsent_ |= draining_ && !link.queue.empty();
  link.queue.clear();
  link.weights_waiting = 0;
  link.dropping = false;
}

// Why this process may not be the link's peer; empty when it may. A later start than the last one
// known ends what is open, which belongs to a process that is gone; of two processes with one
// start, the first stays.
std::string Transport::Lane::note_start(Link& link, const Hello& hello) {
  const bool is_known = link.nonce != 0 && hello.nonce != 0;
  if (hello.incarnation < link.incarnation)
    return std::string(kEarlierStart) + " of " + gossip::peer_name(link.peer);
  if (hello.incarnation == link.incarnation && is_known && hello.nonce != link.nonce)
    return std::string(kPlaceTaken) + ": there is another " + gossip::peer_name(link.peer);
  link.nonce = hello.nonce;
  if (hello.incarnation >= link.promised_incarnation) link.promised_until = {};
  if (std::exchange(link.incarnation, hello.incarnation) < hello.incarnation) {
    link.departed = false;
    for (const ConnectionRef& old : std::vector(link.open)) old->close("started again");
  }
  return {};
}

void Transport::Lane::learn_address(Link& link, std::uint64_t incarnation,
                                    const Endpoint& address) {
  link.address = address;
  link.address_incarnation = incarnation;
  link.redial_wait = limits::kRedialFirst;
  link.redial_at = {};
}

// Of the sender, who knows best, and of those it has heard of in a later start than this peer has.
// What is loopback to a sender on another machine leads nowhere.
void Transport::Lane::learn_addresses(Link& link, const Hello& hello,
                                      const Connection& connection) {
  const bool is_near = connection.is_local();
  const auto is_of_use = [&](const Endpoint& address) {
    return !address.host.empty() && (is_near || !is_loopback(address.host));
  };
  if (is_of_use(hello.address) && hello.incarnation >= link.address_incarnation &&
      (hello.address != link.address || hello.incarnation > link.address_incarnation))
    learn_address(link, hello.incarnation, hello.address);
  for (const BookEntry& entry : hello.book) {
    Link& other = links_[entry.peer.value];
    if (entry.peer == self_.peer || &other == &link || !is_of_use(entry.address)) continue;
    if (other.address.host.empty() || entry.incarnation > other.address_incarnation)
      learn_address(other, entry.incarnation, entry.address);
  }
}

// Who this peer is and whom it knows, with the addresses that the other side can use.
std::string Transport::Lane::hello_for(const Connection& connection) {
  const bool is_near = connection.is_local();
  self_.address = announced_;
  if (!is_near && is_loopback(announced_.host)) {
    self_.address = Endpoint();
    if (!std::exchange(told_loopback_, true)) {
      events_->fault("address not announced", announced_.text() + " means nothing to " +
                                                  connection.remote() +
                                                  "; --listen or --announce another one");
    }
  }
  self_.book.clear();
  for (const Link& link : links_) {
    if (self_.book.size() == kBookEntries) break;
    if (link.peer == self_.peer || link.address.host.empty()) continue;
    if (is_near || !is_loopback(link.address.host))
      self_.book.push_back({link.peer, link.address_incarnation, link.address});
  }
  return encode_hello(self_);
}

// A refusal that means this peer's place, not this one connection.
void Transport::Lane::note_refusal(const Link& link, const std::string& why) {
  if (!why.starts_with(kPlaceTaken) && !why.starts_with(kEarlierStart)) return;
  const std::lock_guard lock(mutex_);
  if (!displaced_) displaced_ = why + ", says " + gossip::peer_name(link.peer);
}

std::optional<std::string> Transport::Lane::displaced() const {
  const std::lock_guard lock(mutex_);
  return displaced_;
}

void Transport::Lane::opened(Link& link, const ConnectionRef& connection) {
  link.open.push_back(connection);
  link.lending[connection];
  connection->note_progress_in(&link.moved_at);
  link.moved_at = std::chrono::nanoseconds(Connection::Clock::now().time_since_epoch()).count();
  link.redial_wait = limits::kRedialFirst;
  link.redial_at = {};
  spawn(write_frames(link, connection));
}

// The peer has no connection and what waits for it will not go out. No news of a peer that has said
// goodbye, unless something waits.
void Transport::Lane::unreachable(Link& link, const std::string& why) {
  const bool missed = !link.departed || !link.queue.empty();
  drop_queue(link);
  if (missed && !draining_) events_->peer_down(link.peer, why);
  check_drained();
}

void Transport::Lane::lost(Link& link, const ConnectionRef& connection, const std::string& why,
                           bool departed) {
  connection->close(why);
  link.departed |= departed;
  std::erase(link.open, connection);
  link.lending.erase(connection);          // nobody takes that any more
  if (link.open.empty() && link.source) {  // lets go of memory of a process that may be dead
    link.source = nullptr;
    link.offer.clear();
  }
  if (link.dialled_in == connection) link.dialled_in = nullptr;
  if (!link.open.empty()) {
    link.open.front()->wake().cancel();  // sends from now on
  } else if (!link.dialling) {
    unreachable(link, why);
  }
  check_drained();
}

bool Transport::Lane::drain(std::chrono::nanoseconds at_most) {
  if (!thread_.joinable()) return true;
  asio::post(io_, [this] { begin_drain(); });
  bool clean = false;
  {
    std::unique_lock lock(mutex_);
    clean = drained_changed_.wait_for(lock, at_most, [this] { return drained_; });
  }
  io_.stop();
  thread_.join();
  close_all();
  return clean && !left_unsent_;
}

// The io lane has ended; its coroutines stay suspended until the lane is destroyed.
void Transport::Lane::close_all() {
  error_code ignored;
  acceptor_.close(ignored);
  for (const auto& [connection, since] : handshaking_) connection->close("this peer has left");
  for (const Link& link : links_) {
    for (const ConnectionRef& connection : link.open) connection->close("this peer has left");
  }
}

void Transport::Lane::begin_drain() {
  draining_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  for (const auto& [connection, since] : std::map(handshaking_)) {
    const bool awaited = std::any_of(links_.begin(), links_.end(), [](const Link& link) {
      return link.dialling && !link.queue.empty();
    });
    if (!awaited) connection->close("this peer is leaving");
  }
  for (Link& link : links_) {
    for (const ConnectionRef& connection : link.open) connection->wake().cancel();
  }
  check_drained();
}

void Transport::Lane::check_drained() {
  if (!draining_) return;
  const bool busy = std::any_of(links_.begin(), links_.end(), [](const Link& link) {
    return !link.open.empty() || (link.dialling && !link.queue.empty());
  });
  if (busy) return;
  const std::lock_guard lock(mutex_);
  drained_ = true;
  drained_changed_.notify_all();
}

TransportMeter Transport::Lane::meter() const {
  TransportMeter m;
  m.frames_sent = meter_.frames_sent;
  m.frames_received = meter_.frames_received;
  m.frames_dropped = meter_.frames_dropped;
  m.payload_bytes_sent = meter_.payload_bytes_sent;
  m.payload_bytes_received = meter_.payload_bytes_received;
  m.example_bytes_sent = meter_.example_bytes_sent;
  m.wire_bytes_sent = meter_.wire_bytes_sent;
  m.wire_bytes_received = meter_.wire_bytes_received;
  m.frames_handed_over = meter_.frames_handed_over;
  m.frames_taken = meter_.frames_taken;
  m.dials = meter_.dials;
  m.refused = meter_.refused;
  m.io_cpu_s = 1e-9 * static_cast<double>(meter_.io_cpu_ns);
  return m;
}

Transport::Lane::Time Transport::Lane::moved_at(kernels::PeerId peer) const {
  if (peer.value >= links_.size()) return {};
  return Time(std::chrono::nanoseconds(links_[peer.value].moved_at));
}

Transport::Transport(TransportOptions options)
    : lane_(std::make_unique<Lane>(std::move(options))) {}
Transport::~Transport() = default;
Endpoint Transport::listening() const { return lane_->listening(); }
Endpoint Transport::announced() const { return lane_->announced(); }
void Transport::start(Hello self, TransportEvents& events, bool greets, Admission admission,
                      gossip::wire::CodecBounds codec) {
  lane_->start(std::move(self), events, greets, std::move(admission), codec);
}
void Transport::hand_over_by(std::shared_ptr<Handover> handover) {
  lane_->hand_over_by(std::move(handover));
}
std::optional<std::string> Transport::displaced() const { return lane_->displaced(); }
void Transport::send(gossip::Frame frame, Delivery delivery) {
  lane_->post(std::move(frame), delivery);
}
bool Transport::drain(std::chrono::nanoseconds at_most) { return lane_->drain(at_most); }
TransportMeter Transport::meter() const { return lane_->meter(); }
std::chrono::steady_clock::time_point Transport::moved_at(kernels::PeerId peer) const {
  return lane_->moved_at(peer);
}

}  // namespace hearsay::runtime
