// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/test_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "gossip/wire/crc32c.hpp"

namespace hearsay::runtime {
namespace {

namespace wire = gossip::wire;

constexpr int kPatienceMs = 30'000;
constexpr std::size_t kMostText = std::size_t{1} << 20;

void append(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int must(int result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
  return result;
}

}  // namespace

Bytes message_of(const wire::Header& header, std::span<const std::byte> prefix,
                 std::span<const std::byte> payload) {
  Bytes bytes;
  append(bytes, wire::encode_header(header));
  append(bytes, prefix);
  append(bytes, payload);
  wire::Crc32c sum;
  sum.add(prefix);
  sum.add(payload);
  const std::uint32_t trailer = sum.value();
  append(bytes, std::as_bytes(std::span(&trailer, 1)));
  return bytes;
}

Bytes message_of(const gossip::Frame& frame) {
  const Bytes prefix = wire::encode_prefix(frame);
  if (frame.packed)
    return message_of(wire::header_of(frame), prefix,
                      std::as_bytes(std::span(frame.packed->bytes)));
  const auto values = frame.values ? frame.values->span() : std::span<const float>{};
  return message_of(wire::header_of(frame), prefix, std::as_bytes(values));
}

Bytes message_of(wire::Kind kind, std::string_view text) {
  wire::Header header;
  header.kind = static_cast<std::uint8_t>(kind);
  header.payload_bytes = text.size();
  return message_of(header, {}, std::as_bytes(std::span(text)));
}

Bytes hello_message(const Hello& hello) {
  return message_of(wire::Kind::hello, encode_hello(hello));
}

TestSocket TestSocket::dial(const Endpoint& address) {
  TestSocket socket(must(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  const sockaddr_in to = loopback(address.port);
  must(::connect(socket.descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof to), "connect");
  return socket;
}

TestSocket TestSocket::listen(int receive_buffer_bytes) {
  TestSocket socket(must(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  if (receive_buffer_bytes > 0) {
    must(::setsockopt(socket.descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                      sizeof receive_buffer_bytes),
         "setsockopt");
  }
  const sockaddr_in at = loopback(0);
  must(::bind(socket.descriptor_, reinterpret_cast<const sockaddr*>(&at), sizeof at), "bind");
  must(::listen(socket.descriptor_, 256), "listen");
  return socket;
}

TestSocket::TestSocket(TestSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

TestSocket& TestSocket::operator=(TestSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

TestSocket::~TestSocket() { close(); }

TestSocket TestSocket::accept() const {
  pollfd waiting{descriptor_, POLLIN, 0};
  if (::poll(&waiting, 1, kPatienceMs) != 1) throw std::runtime_error("nobody dialled");
  return TestSocket(must(::accept(descriptor_, nullptr, nullptr), "accept"));
}

Endpoint TestSocket::address() const {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  must(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&at), &size), "getsockname");
  return {"127.0.0.1", ntohs(at.sin_port)};
}

bool TestSocket::send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool TestSocket::read_all(std::span<std::byte> into) {
  while (!into.empty()) {
    pollfd waiting{descriptor_, POLLIN, 0};
    if (::poll(&waiting, 1, kPatienceMs) != 1) return false;
    const ssize_t got = ::recv(descriptor_, into.data(), into.size(), 0);
    if (got <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

std::optional<TestSocket::Message> TestSocket::receive() {
  wire::HeaderBytes bytes;
  if (!read_all(bytes)) return std::nullopt;
  const auto decoded = wire::decode_header(bytes);
  const auto* header = std::get_if<wire::Header>(&decoded);
  if (header == nullptr || header->payload_bytes > kMostText) return std::nullopt;
  Message message{static_cast<wire::Kind>(header->kind), std::string(header->payload_bytes, ' ')};
  std::array<std::byte, wire::kTrailerBytes> trailer;
  if (!read_all(std::as_writable_bytes(std::span(message.text))) || !read_all(trailer))
    return std::nullopt;
  const std::uint32_t sum = wire::crc32c(std::as_bytes(std::span(message.text)));
  if (std::memcmp(&sum, trailer.data(), sizeof sum) != 0) return std::nullopt;
  return message;
}

Bytes TestSocket::receive_some(std::size_t bytes, std::chrono::milliseconds at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  Bytes got(bytes);
  std::size_t so_far = 0;
  while (so_far < bytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{descriptor_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) != 1) break;
    const ssize_t more = ::recv(descriptor_, got.data() + so_far, bytes - so_far, 0);
    if (more <= 0) break;
    so_far += static_cast<std::size_t>(more);
  }
  got.resize(so_far);
  return got;
}

Bytes TestSocket::receive_any() {
  Bytes bytes(65'536);
  const ssize_t got = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return bytes;
}

bool TestSocket::ends(std::chrono::milliseconds at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  std::array<std::byte, 65'536> unused;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{descriptor_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) != 1) return false;
    if (::recv(descriptor_, unused.data(), unused.size(), 0) <= 0) return true;
  }
}

void TestSocket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void TestSocket::finish_sending() { ::shutdown(descriptor_, SHUT_WR); }

void TestSocket::shut_down() { ::shutdown(descriptor_, SHUT_RDWR); }

void TestSocket::reset() {
  const linger at_once{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

TestSocket dial_as(const Hello& hello, const Endpoint& address) {
  TestSocket socket = TestSocket::dial(address);
  socket.send(hello_message(hello));
  const auto answer = socket.receive();
  if (!answer || answer->kind != wire::Kind::welcome) throw std::runtime_error("no welcome");
  return socket;
}

}  // namespace hearsay::runtime
