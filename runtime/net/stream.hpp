// SPDX-License-Identifier: Apache-2.0
// The bytes of one connection: a TCP socket, or TLS over it once prove() has ended well. Reads and
// writes as Asio's composed operations want it, one of each at a time, so that whoever uses it need
// not know which. Cost of TLS: a record of 16 KiB per operation. Io lane only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "runtime/net/security.hpp"

namespace hearsay::runtime {

// How the proof of who is on the other side ended.
struct Proof {
  std::string why;          // empty: it holds
  bool is_certain = false;  // trying again will not help until somebody changes something
  bool is_plain = false;    // the other side speaks this program's language, but no TLS
  Proof() = default;
  explicit Proof(std::string failure, bool certain)
      : why(std::move(failure)), is_certain(certain) {}
};

class Stream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using executor_type = Socket::executor_type;
  using Error = boost::system::error_code;

  explicit Stream(Socket socket) : socket_(std::move(socket)) {}
  executor_type get_executor() { return socket_.get_executor(); }
  Socket& socket() noexcept { return socket_; }
  const Socket& socket() const noexcept { return socket_; }

  // Both sides authenticated, and each knows that the other one knows. Until then nothing but the
  // handshake's own messages is sent. Of a connected socket, once; `security` outlives this.
  boost::asio::awaitable<Proof> prove(Security& security, Security::Side side);
  // The other side's certificates; none without TLS, or with a secret.
  const std::vector<CertificateNames>& chain() const noexcept { return chain_; }

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [this](auto handler, const Buffers& into) {
          if (tls_) {
            tls_->async_read_some(into, std::move(handler));
          } else {
            socket_.async_read_some(into, std::move(handler));
          }
        },
        token, buffers);
  }
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [this](auto handler, const Buffers& from) {
          if (tls_) {
            tls_->async_write_some(from, std::move(handler));
          } else {
            socket_.async_write_some(from, std::move(handler));
          }
        },
        token, buffers);
  }

 private:
  boost::asio::awaitable<Proof> look_before();
  Proof failed(const Security& security, Security::Side side, const Error& error);

  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
  std::vector<CertificateNames> chain_;
};

}  // namespace hearsay::runtime
