// SPDX-License-Identifier: Apache-2.0
// One TCP connection, plain or with TLS, as a stream of messages: header, body, trailer. Knows
// bytes and checksums, not what a message means. One coroutine may read while another writes. Io
// lane only; owned by a shared_ptr because both coroutines outlive whoever closes it. Includes
// Asio: only the sources of this folder include this header.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "gossip/wire/crc32c.hpp"
#include "gossip/wire/header.hpp"
#include "runtime/net/endpoint.hpp"
#include "runtime/net/security.hpp"

namespace hearsay::runtime {

namespace wire = gossip::wire;

// What the io lane counts; read by other threads at any time.
struct MeterCounters {
  using Count = std::atomic<std::uint64_t>;
  Count frames_sent{0}, frames_received{0}, frames_dropped{0};
  Count payload_bytes_sent{0}, payload_bytes_received{0};
  Count example_bytes_sent{0};
  Count wire_bytes_sent{0}, wire_bytes_received{0};
  Count frames_handed_over{0}, frames_taken{0};
  Count dials{0}, refused{0};
  Count io_cpu_ns{0};  // of the io lane, noted twice a second
};

class Stream;

class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  // Without `security` the other side is believed and everybody can read along.
  Connection(boost::asio::ip::tcp::socket socket, MeterCounters& meter,
             std::shared_ptr<Security> security = nullptr);
  ~Connection();

  // The outcome of one step: empty `why` is success; `ended` is an end of file between messages.
  // Constructors, because g++ 12 destroys braced aggregates twice in coroutines (GCC bug 98995).
  struct Status {
    std::string why;
    bool ended = false;
    bool foreign = false;   // what came is no message of this program
    bool unproven = false;  // for certain not authenticated; trying again does not help by itself
    Status() = default;
    explicit Status(std::string failure, bool is_foreign = false)
        : why(std::move(failure)), foreign(is_foreign) {}
    static Status not_proven(std::string failure) {
      Status status(std::move(failure));
      status.unproven = true;
      return status;
    }
    static Status end_of_file() {
      Status status;
      status.ended = true;
      return status;
    }
    bool ok() const noexcept { return why.empty() && !ended; }
  };

  void limit_send_buffer(int bytes);  // of a connected socket
  // Either side's first step. Nothing is read or sent before both sides are authenticated; without
  // security there is nothing to prove.
  boost::asio::awaitable<Status> connect(const Endpoint& address);
  boost::asio::awaitable<Status> admit();  // of an accepted one
  // Whether anybody takes connections there; says nothing and proves nothing.
  boost::asio::awaitable<Status> reach(const Endpoint& address);
  bool is_revoked() const;  // by what its certificate says
  boost::asio::awaitable<Status> read_header(wire::Header& out);
  // A part of the body; adds to the sum that read_trailer() compares.
  boost::asio::awaitable<Status> read_body(std::span<std::byte> into, wire::Crc32c& sum);
  boost::asio::awaitable<Status> read_trailer(const wire::Crc32c& sum);
  // Header, `prefix` (votes or text), payload, trailer. `damage`: what of the trailer is wrong, for
  // tests.
  boost::asio::awaitable<Status> write(const wire::Header& header,
                                       std::span<const std::byte> prefix,
                                       std::span<const std::byte> payload, std::byte damage = {});

  // A handshake's message: its body is text, bounded. read_text() comes after read_header().
  boost::asio::awaitable<Status> read_text(const wire::Header& header, std::string& out);
  boost::asio::awaitable<Status> write_text(wire::Kind kind, kernels::PeerId from,
                                            const std::string& text);

  // Notes there, from now on, when bytes of weights last moved (steady clock, ns); outlives the
  // connection. Not pings: two peers that greet each other get nowhere with an exchange.
  void note_progress_in(std::atomic<std::int64_t>* moved_at) noexcept { moved_at_ = moved_at; }
  void finish_sending();  // the other side reads to the end of the file
  void close(const std::string& why);
  bool is_open() const noexcept { return open_; }
  const std::string& closed_because() const noexcept { return why_; }

  // For the watchdog: a message has begun and nothing has moved since.
  bool stands_still(Clock::time_point now) const;
  boost::asio::steady_timer& wake() noexcept { return wake_; }  // of the writing coroutine
  std::string local_host() const;  // this side's address, without the port
  std::string remote() const;      // address, for people
  bool is_local() const;           // the other side is reached over loopback

 private:
  std::shared_ptr<Security> security_;  // outlives the stream
  std::unique_ptr<Stream> stream_;
  boost::asio::steady_timer wake_;
  MeterCounters& meter_;
  bool open_ = true, reading_ = false, writing_ = false, reads_weights_ = false;
  Clock::time_point last_read_, last_write_;
  std::string why_;
  std::atomic<std::int64_t>* moved_at_ = nullptr;

  void note_progress(Clock::time_point now);
  boost::asio::awaitable<Status> prove(Security::Side side);
};

}  // namespace hearsay::runtime
