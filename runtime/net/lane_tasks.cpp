// SPDX-License-Identifier: Apache-2.0
// The io lane's coroutines: accept, dial, handshake, read, write, watch.
#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "gossip/event.hpp"
#include "gossip/limits.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/net/lane.hpp"

namespace hearsay::runtime {
namespace {

namespace asio = boost::asio;
namespace limits = gossip::limits;
using namespace std::chrono_literals;
using Status = Connection::Status;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr auto kWatchTick = 500ms;
constexpr auto kAcceptPause = 100ms;  // after a failure such as too many open files
constexpr auto kNoRoomPause = 2ms;    // until an arrived frame is offered again
constexpr double kRedialJitter = 0.25;
constexpr std::size_t kGreetings = 16;  // dialled at once by a peer that comes late
constexpr auto kGreetingPause = 20ms;

std::string ended_text(const Status& status) {
  return status.ended ? "connection closed" : status.why;
}

std::span<const std::byte> payload_of(const gossip::Frame& frame) {
  if (frame.packed) return std::as_bytes(std::span(frame.packed->bytes));
  if (frame.values) return std::as_bytes(frame.values->span());
  return {};
}

}  // namespace

Transport::Lane::Task Transport::Lane::accept_loop() {
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(kToken);
    if (error == asio::error::operation_aborted || draining_) co_return;
    if (error) {
      asio::steady_timer pause(io_, kAcceptPause);
      co_await pause.async_wait(kToken);
      continue;
    }
    if (half_open_ >= limits::kHalfOpenConnections) continue;  // closes it
    spawn(welcome(connection_of(std::move(socket))));
  }
}

// The accepting side: nothing is sent before the other has said who it is.
Transport::Lane::Task Transport::Lane::welcome(ConnectionRef connection) {
  handshaking_.emplace(connection, Connection::Clock::now());
  ++half_open_;
  wire::Header header;
  std::string text, why;
  Status status = co_await connection->admit();
  if (status.ok()) status = co_await connection->read_header(header);
  const bool joins = header.kind == static_cast<std::uint8_t>(wire::Kind::join);
  if (status.ok() && !joins && header.kind != static_cast<std::uint8_t>(wire::Kind::hello))
    status.why = "no hello";
  if (status.ok()) status = co_await connection->read_text(header, text);
  if (status.ok() && joins) {
    handshaking_.erase(connection);
    co_await let_in(connection, std::move(text));
    --half_open_;
    co_return;
  }
  // Whoever speaks another version, or TLS here, hears it from its own reader.
  const bool other_version = status.foreign && status.why.starts_with("wire version");
  if (other_version || (status.unproven && !options_.security)) {
    text = status.why;
    co_await connection->write_text(wire::Kind::refused, self_.peer, text);
  }
  std::optional<Hello> hello;
  if (status.ok()) {
    hello = decode_hello(text);
    why = hello ? find_fault(self_, *hello) : "a hello that cannot be read";
    if (why.empty()) why = note_start(links_[hello->peer.value], *hello);
    if (draining_) why = "leaving";
    if (why.empty()) learn_addresses(links_[hello->peer.value], *hello, *connection);
    // No ?: around co_await: g++ 12 then destroys the result of the arm that was not taken.
    if (why.empty()) {
      const std::string own = hello_for(*connection);
      status = co_await connection->write_text(wire::Kind::welcome, self_.peer, own);
    } else {
      status = co_await connection->write_text(wire::Kind::refused, self_.peer, why);
    }
  }
  handshaking_.erase(connection);
  --half_open_;
  if (!status.ok() || !why.empty() || draining_) {
    if (!connection->is_open()) why = connection->closed_because();
    stranger(*connection, why.empty() ? ended_text(status) : why);
    connection->finish_sending();
    connection->close(why);
    co_return;
  }
  Link& link = links_[hello->peer.value];
  note_offer(link, *hello);
  // A peer dials only when it has nothing open: of two that it made, the first is lost.
  if (const ConnectionRef earlier = std::exchange(link.dialled_in, connection))
    earlier->close("dialled again");
  opened(link, connection);
  co_await read_frames(link, connection);
}

// The dialling side, up to an open connection.
asio::awaitable<Status> Transport::Lane::shake_hands(Link& link, Connection& connection) {
  Status status = co_await connection.connect(link.address);
  if (options_.socket_buffer_bytes > 0) connection.limit_send_buffer(options_.socket_buffer_bytes);
  wire::Header header;
  std::string text;
  if (status.ok()) {
    text = hello_for(connection);
    status = co_await connection.write_text(wire::Kind::hello, self_.peer, text);
  }
  if (status.ok()) status = co_await connection.read_header(header);
  if (status.ok()) status = co_await connection.read_text(header, text);
  if (!status.ok()) co_return status;
  if (header.kind == static_cast<std::uint8_t>(wire::Kind::refused)) {
    note_refusal(link, text);
    const std::string why = "refused by " + gossip::peer_name(link.peer) + ": " + text;
    if (text == Security::told_to_plain()) co_return Status::not_proven(why);
    co_return Status(why);
  }
  const std::optional<Hello> hello = decode_hello(text);
  if (header.kind != static_cast<std::uint8_t>(wire::Kind::welcome) || !hello)
    co_return Status("no welcome from " + link.address.text());
  if (hello->peer != link.peer)
    co_return Status(link.address.text() + " is " + gossip::peer_name(hello->peer));
  std::string fault = find_fault(self_, *hello);
  if (fault.empty()) fault = note_start(link, *hello);
  if (fault.empty()) learn_addresses(link, *hello, connection);
  if (fault.empty()) note_offer(link, *hello);
  co_return Status(fault);
}

Transport::Lane::Task Transport::Lane::dial(Link& link) {
  const ConnectionRef connection = connection_of(asio::ip::tcp::socket(io_));
  handshaking_.emplace(connection, Connection::Clock::now());
  ++meter_.dials;
  const Status status = co_await shake_hands(link, *connection);
  handshaking_.erase(connection);
  link.dialling = false;
  if (status.ok() && connection->is_open()) {
    opened(link, connection);
    co_await read_frames(link, connection);
    co_return;
  }
  const std::string why = connection->is_open() ? ended_text(status) : connection->closed_because();
  connection->close(why);
  const std::string name = gossip::peer_name(link.peer);
  if (status.unproven) tell_once(name, "peer not authenticated", name + ": " + why);
  // Peers that lost each other must not dial in step.
  const double jitter =
      1.0 + kRedialJitter * (static_cast<double>(self_.peer.value % 8) / 4.0 - 1.0);
  link.redial_at = Connection::Clock::now() +
                   std::chrono::duration_cast<std::chrono::nanoseconds>(link.redial_wait * jitter);
  link.redial_wait = std::min<std::chrono::nanoseconds>(2 * link.redial_wait, limits::kRedialMost);
  if (link.open.empty()) unreachable(link, why);
}

asio::awaitable<Status> Transport::Lane::read_frame(Link& link, const ConnectionRef& connection,
                                                    const wire::Header& header,
                                                    gossip::Frame& out) {
  const std::string fault =
      wire::find_fault(header, {self_.peer, link.peer, self_.peers, self_.layout.size(), codec_,
                                self_.sketch_values, self_.example_bytes, link.source != nullptr});
  if (!fault.empty()) co_return Status(fault);
  out = wire::frame_of(header);
  wire::Crc32c sum;
  Status status;
  if (header.prefix_bytes() > 0) {
    std::vector<std::byte> prefix(header.prefix_bytes());
    status = co_await connection->read_body(prefix, sum);
    if (status.ok() && !wire::decode_prefix(header, prefix, self_.peers, out))
      status.why =
          "a vote, pulse or sketch of a peer that does not exist, or a sketch that is none";
  }
  if (status.ok() && header.handed_over) {
    status = co_await take_over(link, connection, header, sum, out);
    co_return status;
  }
  if (status.ok() && header.packed) {
    const auto message = std::make_shared<merge::Packed>();
    message->bytes.resize(header.payload_bytes);
    status = co_await connection->read_body(std::as_writable_bytes(std::span(message->bytes)), sum);
    out.packed = message;
  } else if (status.ok() && header.payload_bytes > 0) {
    const auto values = options_.blank(header.payload_bytes / sizeof(float));
    status = co_await connection->read_body(std::as_writable_bytes(values->values.span()), sum);
    out.values = values;
  }
  if (status.ok()) status = co_await connection->read_trailer(sum);
  co_return status;
}

Transport::Lane::Task Transport::Lane::read_frames(Link& link, ConnectionRef connection) {
  asio::steady_timer pause(io_);
  bool departed = false;
  Status status;
  while (!departed) {
    wire::Header header;
    status = co_await connection->read_header(header);
    if (!status.ok()) break;
    if (header.kind == static_cast<std::uint8_t>(wire::Kind::bye)) {
      departed = true;
      status = co_await connection->read_trailer({});
      break;
    }
    if (is_of_handover(header)) {
      status = co_await connection->read_trailer({});
      if (status.ok()) status.why = note_handover(link, connection, header);
      if (!status.ok()) break;
      continue;
    }
    gossip::Frame frame;
    status = co_await read_frame(link, connection, header, frame);
    if (!status.ok()) break;
    ++meter_.frames_received;
    meter_.payload_bytes_received += header.payload_bytes;
    // Not reading on is what makes the sender wait: TCP's window closes.
    while (!draining_ && connection->is_open() && !events_->frame_arrived(frame)) {
      pause.expires_after(kNoRoomPause);
      co_await pause.async_wait(kToken);
    }
  }
  const bool ours = !connection->is_open();
  const std::string why = ours ? connection->closed_because() : ended_text(status);
  // Where another connection is left nobody is down, but what was on its way on this one is lost.
  if (!ours && !departed && link.open.size() > 1 && !draining_)
    events_->peer_down(link.peer, "one of two connections: " + why);
  if (!ours && !departed && !status.ended && !draining_)
    events_->fault("connection broken", gossip::peer_name(link.peer) + ": " + why);
  lost(link, connection, why, departed);
}

asio::awaitable<Status> Transport::Lane::write_frame(Link& link, const ConnectionRef& connection,
                                                     const Outgoing& out) {
  const gossip::Frame& frame = out.frame;
  wire::Header header = wire::header_of(frame);
  const std::vector<std::byte> prefix = wire::encode_prefix(frame);
  std::span<const std::byte> payload;
  std::optional<HandoverTicket> ticket;
  Status status;
  // Weights on a device that fails are lost: the compute lane finds out too, and says why.
  try {
    ticket = lend(link, connection, frame);
    payload = ticket ? std::span<const std::byte>(*ticket) : payload_of(frame);
  } catch (const kernels::Fault& fault) {
    status.why = std::string("weights cannot be read: ") + fault.what();
  }
  if (!status.ok()) co_return status;
  header.handed_over = ticket.has_value();
  const auto damage = static_cast<std::byte>(out.delivery == Delivery::corrupted ? 0xff : 0);
  status = co_await connection->write(header, prefix, payload, damage);
  if (!status.ok() || !ticket) co_return status;
  ++meter_.frames_handed_over;
  meter_.wire_bytes_sent += header.payload_bytes - ticket->size();
  co_return status;
}

Transport::Lane::Task Transport::Lane::write_frames(Link& link, ConnectionRef connection) {
  if (link.source) {
    const Status said =
        co_await connection->write_text(wire::Kind::can_take, self_.peer, std::string());
    if (!said.ok()) connection->close(said.why);
  }
  while (connection->is_open()) {
    Lending& lending = link.lending[connection];  // there until it is closed
    if (lending.owes > 0) {
      --lending.owes;
      const Status said =
          co_await connection->write_text(wire::Kind::taken, self_.peer, std::string());
      if (!said.ok()) connection->close(said.why);
      continue;
    }
    const bool sends = !link.open.empty() && link.open.front() == connection;
    if (!sends || link.queue.empty()) {
      if (draining_ && (link.queue.empty() || link.open.size() > 1)) break;
      connection->wake().expires_at(Time::max());
      co_await connection->wake().async_wait(kToken);
      continue;
    }
    const Outgoing out = std::move(link.queue.front());
    const gossip::Frame& frame = out.frame;
    link.queue.pop_front();
    if (frame.carries_weights() && frame.kind != gossip::FrameKind::chunk) --link.weights_waiting;
    if (link.weights_waiting < limits::kSendFrames / 2) link.dropping = false;
    const Status status = co_await write_frame(link, connection, out);
    if (!status.ok()) {
      ++meter_.frames_dropped;
      left_unsent_ |= draining_;
      if (link.open.size() > 1 && !draining_)
        events_->peer_down(link.peer, "one of two connections: " + status.why);
      connection->close(status.why);  // the reader finds out and tells
      co_return;
    }
    ++meter_.frames_sent;
    meter_.payload_bytes_sent += frame.payload_bytes();
    meter_.example_bytes_sent += frame.example_bytes();
  }
  if (!connection->is_open()) co_return;
  const Status said = co_await connection->write_text(wire::Kind::bye, self_.peer, std::string());
  if (said.ok()) connection->finish_sending();
}

// Says hello to everybody that this peer has heard of, also to those it hears of on the way; a few
// at once, each once.
Transport::Lane::Task Transport::Lane::greet() {
  asio::steady_timer pause(io_);
  std::vector<bool> greeted(self_.peers, false);
  greeted[self_.peer.value] = true;
  for (;;) {
    std::size_t on_their_way = 0;
    for (Link& link : links_) {
      if (link.dialling && ++on_their_way >= kGreetings) break;
      if (greeted[link.peer.value] || link.dialling || link.address.host.empty()) continue;
      greeted[link.peer.value] = true;
      if (!link.open.empty()) continue;
      link.dialling = true;
      ++on_their_way;
      spawn(dial(link));
    }
    if (on_their_way == 0 || draining_) co_return;
    pause.expires_after(kGreetingPause);
    co_await pause.async_wait(kToken);
  }
}

// Ends connections that do not get on (no handshake, or a message that stands still), or whose peer
// may no longer be here.
Transport::Lane::Task Transport::Lane::watch() {
  for (;;) {
    tick_.expires_after(kWatchTick);
    co_await tick_.async_wait(kToken);
    note_cpu_time();
    close_revoked();
    const auto now = Connection::Clock::now();
    for (const auto& [connection, since] : std::map(handshaking_)) {
      if (now - since > limits::kHandshakeTimeout) connection->close("no handshake in time");
    }
    for (Link& link : links_) {
      for (const ConnectionRef& connection : std::vector(link.open)) {
        if (connection->stands_still(now)) connection->close("no progress in mid-message");
      }
    }
  }
}

}  // namespace hearsay::runtime
