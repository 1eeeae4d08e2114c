// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/stream.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace hearsay::runtime {
namespace {

namespace asio = boost::asio;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr char kTlsHandshake = 0x16;          // first byte of what a TLS client sends
constexpr std::string_view kOwnMagic = "hs";  // of a message without TLS
constexpr std::size_t kMostUnread = 1 << 20;
constexpr char kTaken = 1;

}  // namespace

// A look at the first bytes, which stay where they are: whoever speaks no TLS need not be answered
// in it. Nothing but those two bytes is looked at.
asio::awaitable<Proof> Stream::look_before() {
  const auto [failure] = co_await socket_.async_wait(Socket::wait_read, kToken);
  if (failure) co_return Proof(failure.message(), false);
  std::array<char, 2> first{};
  Error error;
  socket_.non_blocking(true, error);  // the lane's thread never waits
  const std::size_t got =
      socket_.receive(asio::buffer(first), asio::socket_base::message_peek, error);
  if (error || got == 0) co_return Proof("connection closed", false);
  if (first[0] == kTlsHandshake) co_return Proof();
  Proof none(Security::plain_there(), true);
  none.is_plain = std::string_view(first.data(), got) == kOwnMagic;
  if (none.is_plain) {  // unread bytes would make the answer's arrival a matter of luck
    std::vector<char> unused(std::min(socket_.available(error), kMostUnread));
    socket_.receive(asio::buffer(unused), 0, error);
  }
  co_return none;
}

Proof Stream::failed(const Security& security, Security::Side side, const Error& error) {
  if (error.category() == asio::error::get_ssl_category())
    return Proof(security.explain(tls_->native_handle(), static_cast<unsigned long>(error.value())),
                 true);
  const bool has_ended = error == asio::error::eof || error == asio::ssl::error::stream_truncated ||
                         error == asio::error::connection_reset;
  if (!has_ended || side == Security::Side::acceptor)
    return Proof(has_ended ? "closed before it proved who it is" : error.message(), false);
  return Proof("closed before it proved who it is; was it started with the same --secret or --tls?",
               false);
}

asio::awaitable<Proof> Stream::prove(Security& security, Security::Side side) {
  const bool accepts = side == Security::Side::acceptor;
  if (accepts) {
    Proof looked = co_await look_before();
    if (!looked.why.empty()) co_return looked;
  }
  tls_.emplace(socket_, security.new_session());
  const auto [error] = co_await tls_->async_handshake(
      accepts ? asio::ssl::stream_base::server : asio::ssl::stream_base::client, kToken);
  if (error) co_return failed(security, side, error);
  const std::string fault = security.fault_of(tls_->native_handle());
  if (!fault.empty()) co_return Proof(fault, true);
  // In TLS 1.3 the dialler is through before the acceptor has looked at what it has shown. So it
  // waits for a byte, and with it for the acceptor's verdict, before it says anything.
  std::array<char, 1> verdict{kTaken};
  Error answer;
  std::size_t moved = 0;
  if (accepts) {
    std::tie(answer, moved) = co_await asio::async_write(*tls_, asio::buffer(verdict), kToken);
  } else {
    std::tie(answer, moved) = co_await asio::async_read(*tls_, asio::buffer(verdict), kToken);
  }
  if (answer) co_return failed(security, side, answer);
  if (verdict[0] != kTaken) co_return Proof("an answer that nobody gives here", true);
  chain_ = Security::chain_of(tls_->native_handle());
  co_return Proof();
}

}  // namespace hearsay::runtime
