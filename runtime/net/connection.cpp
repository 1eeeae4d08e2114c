// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/connection.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "gossip/limits.hpp"
#include "runtime/net/own_address.hpp"
#include "runtime/net/stream.hpp"

namespace hearsay::runtime {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
// What one system call moves at most. A piece is checked right before it is sent and right after it
// has come, while it is in the cache.
constexpr std::size_t kPieceBytes = 256 * 1024;

// A clean end is said by a message (`bye`), which nobody can forge where there is TLS, so an end of
// the socket is the same with TLS as without.
bool is_end(const error_code& error) {
  return error == asio::error::eof || error == asio::ssl::error::stream_truncated;
}

std::string text_of(const error_code& error) {
  return is_end(error) ? "closed in mid-message" : error.message();
}

// What a TLS client sends first, where a header belongs.
bool begins_tls(const wire::HeaderBytes& bytes) {
  return bytes[0] == std::byte{0x16} && bytes[1] == std::byte{0x03};
}

std::span<const std::byte> bytes_of(const std::uint32_t& value) {
  return std::as_bytes(std::span(&value, 1));
}

// What the kernel takes ahead of what it has sent. Without a limit it takes megabytes at once, and
// a message counts as gone, and its peer as quiet, while a slow link carries it for seconds.
constexpr int kUnsentBytes = 32 * 1024;

// For a connected socket. Between two processes of one machine nothing can be congested, and a
// system whose congestion control paces what is sent (BBR) would be held back for nothing.
void set_up(asio::ip::tcp::socket& socket) {
  error_code error;
  socket.set_option(asio::ip::tcp::no_delay(true), error);
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes,
               sizeof(kUnsentBytes));  // a failure costs knowledge only
  const auto here = socket.local_endpoint(error), there = socket.remote_endpoint(error);
  if (error || here.address() != there.address()) return;
  constexpr std::string_view kUnpaced = "reno";  // every Linux has it; a failure costs speed only
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_CONGESTION, kUnpaced.data(),
               kUnpaced.size());
}

// With what a name stands for, and whether this machine speaks that at all.
std::string cannot_reach(const Endpoint& address,
                         const asio::ip::tcp::resolver::results_type& found,
                         const error_code& error) {
  std::string text = address.text(), tried, fault;
  const std::vector<std::string> machine = machine_addresses();
  for (const auto& each : found) {
    const std::string numeric = each.endpoint().address().to_string();
    if (numeric != address.host) tried += (tried.empty() ? "" : ", ") + numeric;
    fault = family_fault(numeric, machine);
    if (fault.empty()) break;
  }
  if (!tried.empty()) text += " (" + tried + ")";
  text += ": " + error.message();
  return fault.empty() ? text : text + ": " + fault;
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, MeterCounters& meter,
                       std::shared_ptr<Security> security)
    : security_(std::move(security)),
      stream_(std::make_unique<Stream>(std::move(socket))),
      wake_(stream_->get_executor(), Clock::time_point::max()),
      meter_(meter),
      last_read_(Clock::now()),
      last_write_(last_read_) {
  if (stream_->socket().is_open()) set_up(stream_->socket());  // or reach() does it
}

Connection::~Connection() = default;

asio::awaitable<Connection::Status> Connection::reach(const Endpoint& address) {
  asio::ip::tcp::resolver resolver(stream_->get_executor());
  const auto [unknown, found] =
      co_await resolver.async_resolve(address.host, std::to_string(address.port), kToken);
  if (unknown) co_return Status(address.text() + ": " + unknown.message());
  if (!open_) co_return Status(why_);  // closed meanwhile
  const auto [error, endpoint] = co_await asio::async_connect(stream_->socket(), found, kToken);
  if (error) co_return Status(cannot_reach(address, found, error));
  set_up(stream_->socket());
  co_return Status();
}

asio::awaitable<Connection::Status> Connection::prove(Security::Side side) {
  if (!security_) co_return Status();
  Proof proof = co_await stream_->prove(*security_, side);
  if (proof.why.empty()) co_return Status();
  if (proof.is_plain) {  // in plain words, so that it can be read there
    const std::string text = Security::told_to_plain();
    co_await write_text(wire::Kind::refused, kernels::PeerId(), text);
  }
  if (!proof.is_certain) co_return Status(std::move(proof.why));
  co_return Status::not_proven(std::move(proof.why));
}

asio::awaitable<Connection::Status> Connection::connect(const Endpoint& address) {
  Status status = co_await reach(address);
  if (!status.ok()) co_return status;
  status = co_await prove(Security::Side::dialler);
  if (!status.ok()) status.why = address.text() + ": " + status.why;
  co_return status;
}

asio::awaitable<Connection::Status> Connection::admit() { return prove(Security::Side::acceptor); }

bool Connection::is_revoked() const {
  RevocationList* const revoked = security_ ? security_->revoked() : nullptr;
  return revoked != nullptr && revoked->has_any_of(stream_->chain());
}

// Not the receive buffer: a window that shrinks after it was announced makes TCP wait for its probe
// timer before every segment.
void Connection::limit_send_buffer(int bytes) {
  error_code ignored;
  stream_->socket().set_option(asio::socket_base::send_buffer_size(bytes), ignored);
}

asio::awaitable<Connection::Status> Connection::read_header(wire::Header& out) {
  wire::HeaderBytes bytes;
  const auto progress = [&](const error_code& error, std::size_t got) -> std::size_t {
    reading_ = got > 0;  // an idle connection may stand still
    last_read_ = Clock::now();
    return error || got == bytes.size() ? 0 : bytes.size() - got;
  };
  const auto [error, got] =
      co_await asio::async_read(*stream_, asio::buffer(bytes), progress, kToken);
  meter_.wire_bytes_received += got;
  if (error) {
    reading_ = false;
    if (is_end(error) && got == 0) co_return Status::end_of_file();
    co_return Status(text_of(error));
  }
  if (!security_ && begins_tls(bytes)) co_return Status::not_proven(Security::plain_here());
  const auto decoded = wire::decode_header(bytes);
  if (const auto* fault = std::get_if<wire::WireFault>(&decoded))
    co_return Status(fault->what, true);
  out = std::get<wire::Header>(decoded);
  reading_ = true;  // the condition above is not asked again once the header is complete
  reads_weights_ = out.is_frame() && out.payload_bytes > 0;
  last_read_ = Clock::now();
  co_return Status();
}

asio::awaitable<Connection::Status> Connection::read_body(std::span<std::byte> into,
                                                          wire::Crc32c& sum) {
  while (!into.empty()) {
    const auto piece = into.first(std::min(into.size(), kPieceBytes));
    const auto progress = [&](const error_code& error, std::size_t got) -> std::size_t {
      last_read_ = Clock::now();
      if (reads_weights_ && got > 0) note_progress(last_read_);
      return error ? 0 : piece.size() - got;
    };
    const auto [error, got] = co_await asio::async_read(
        *stream_, asio::buffer(piece.data(), piece.size()), progress, kToken);
    progress(error, got);  // not asked about the last bytes
    meter_.wire_bytes_received += got;
    if (error) {
      reading_ = false;
      co_return Status(text_of(error));
    }
    sum.add(piece);
    into = into.subspan(piece.size());
  }
  co_return Status();
}

asio::awaitable<Connection::Status> Connection::read_trailer(const wire::Crc32c& sum) {
  std::uint32_t declared = 0;
  wire::Crc32c unused;
  const Status status = co_await read_body(std::as_writable_bytes(std::span(&declared, 1)), unused);
  reading_ = false;
  if (!status.ok()) co_return status;
  co_return Status(declared == sum.value() ? "" : "body checksum is wrong");
}

asio::awaitable<Connection::Status> Connection::write(const wire::Header& header,
                                                      std::span<const std::byte> prefix,
                                                      std::span<const std::byte> payload,
                                                      std::byte damage) {
  const wire::HeaderBytes head = wire::encode_header(header);
  wire::Crc32c sum;
  sum.add(prefix);
  std::uint32_t trailer = 0;
  writing_ = true;
  last_write_ = Clock::now();
  const bool writes_weights = header.is_frame() && header.payload_bytes > 0;
  for (bool first = true, last = false; !last; first = false) {
    const auto piece = payload.first(std::min(payload.size(), kPieceBytes));
    payload = payload.subspan(piece.size());
    last = payload.empty();
    sum.add(piece);
    trailer = sum.value() ^ std::to_integer<std::uint32_t>(damage);
    const auto none = std::span<const std::byte>{};
    std::array<asio::const_buffer, 4> parts;
    std::size_t total = 0;
    for (std::size_t i = 0;
         const auto part : {first ? std::span<const std::byte>(head) : none, first ? prefix : none,
                            piece, last ? bytes_of(trailer) : none}) {
      parts[i++] = asio::buffer(part.data(), part.size());
      total += part.size();
    }
    const auto progress = [&](const error_code& error, std::size_t sent) -> std::size_t {
      if (sent > 0) last_write_ = Clock::now();  // asked before the first byte as well
      if (sent > 0 && writes_weights) note_progress(last_write_);
      return error ? 0 : total - sent;
    };
    const auto [error, sent] = co_await asio::async_write(*stream_, parts, progress, kToken);
    progress(error, sent);  // not asked about the last bytes
    meter_.wire_bytes_sent += sent;
    if (error) {
      writing_ = false;
      co_return Status(error.message());
    }
  }
  writing_ = false;
  co_return Status();
}

asio::awaitable<Connection::Status> Connection::read_text(const wire::Header& header,
                                                          std::string& out) {
  if (header.payload_bytes > gossip::limits::kHandshakeBytes || header.prefix_bytes() != 0)
    co_return Status("a handshake of " + std::to_string(header.payload_bytes) + " bytes");
  out.resize(header.payload_bytes);
  wire::Crc32c sum;
  Status status = co_await read_body(std::as_writable_bytes(std::span(out)), sum);
  if (status.ok()) status = co_await read_trailer(sum);
  co_return status;
}

asio::awaitable<Connection::Status> Connection::write_text(wire::Kind kind, kernels::PeerId from,
                                                           const std::string& text) {
  wire::Header header;
  header.kind = static_cast<std::uint8_t>(kind);
  header.from = from;
  header.payload_bytes = text.size();
  co_return co_await write(header, {}, std::as_bytes(std::span(text)));
}

void Connection::note_progress(Clock::time_point now) {
  if (moved_at_ == nullptr) return;
  *moved_at_ = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
}

void Connection::finish_sending() {
  error_code ignored;
  stream_->socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void Connection::close(const std::string& why) {
  if (!open_) return;
  open_ = false;
  why_ = why;
  error_code ignored;
  stream_->socket().close(ignored);
  wake_.cancel();
}

bool Connection::stands_still(Clock::time_point now) const {
  return (reading_ && now - last_read_ > gossip::limits::kNoProgressTimeout) ||
         (writing_ && now - last_write_ > gossip::limits::kNoProgressTimeout);
}

std::string Connection::local_host() const {
  error_code error;
  return stream_->socket().local_endpoint(error).address().to_string();
}

bool Connection::is_local() const {
  error_code error;
  return is_loopback(stream_->socket().remote_endpoint(error).address().to_string());
}

std::string Connection::remote() const {
  error_code error;
  const auto endpoint = stream_->socket().remote_endpoint(error);
  if (error) return "a closed connection";
  return Endpoint{endpoint.address().to_string(), endpoint.port()}.text();
}

}  // namespace hearsay::runtime
