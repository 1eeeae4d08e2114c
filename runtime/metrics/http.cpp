// SPDX-License-Identifier: Apache-2.0
#include "runtime/metrics/http.hpp"

#include <fcntl.h>
#include <pthread.h>

#include <array>
#include <csignal>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "kernels/core/errc.hpp"
#include "runtime/metrics/peers_json.hpp"
#include "runtime/metrics/prometheus_text.hpp"

namespace hearsay::runtime {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;
using Text = std::shared_ptr<const std::string>;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr auto kAcceptPause = 100ms;  // after a failure such as too many open files
// After an answer the rest of what the client says is read and thrown away, as closing over unread
// bytes would take the answer back.
constexpr auto kPartingTime = 1s;
constexpr std::size_t kPartingBytes = std::size_t{2} << 20;
constexpr std::uint64_t kMostAnswerBytes = std::uint64_t{64} << 20;

tcp::acceptor listening_socket(asio::io_context& io, const Endpoint& address) {
  const auto refuse = [&](const error_code& error) {
    throw kernels::UsageError("--metrics " + address.text() + ": " + error.message() +
                              "; take another port, or port 0 for any free one");
  };
  error_code error;
  tcp::acceptor acceptor(io);
  const auto found = tcp::resolver(io).resolve(address.host, std::to_string(address.port),
                                               tcp::resolver::passive, error);
  if (error) refuse(error);
  const tcp::endpoint endpoint = found.begin()->endpoint();
  if (acceptor.open(endpoint.protocol(), error)) refuse(error);
  fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
  if (acceptor.set_option(tcp::acceptor::reuse_address(true), error)) refuse(error);
  if (acceptor.bind(endpoint, error)) refuse(error);
  if (acceptor.listen(asio::socket_base::max_listen_connections, error)) refuse(error);
  return acceptor;
}

struct Page {
  Page(http::status s, const char* t, Text b) : status(s), type(t), body(std::move(b)) {}
  http::status status;
  const char* type;
  Text body;
};

constexpr const char* kPlain = "text/plain; charset=utf-8";

Page short_page(http::status status, const std::string& line) {
  return Page(status, kPlain, std::make_shared<const std::string>(line + "\n"));
}

// The answers that one snapshot gives, made when first asked for.
class Pages {
 public:
  explicit Pages(std::shared_ptr<const PoolSnapshot> pool) : pool_(std::move(pool)) {}
  const PoolSnapshot* source() const { return pool_.get(); }

  Page page_for(std::string_view path) {
    if (path == "/metrics") {
      if (!metrics_) metrics_ = std::make_shared<const std::string>(prometheus_text(*pool_));
      return Page(http::status::ok, "text/plain; version=0.0.4; charset=utf-8", metrics_);
    }
    if (path == "/peers.json") {
      if (!peers_) peers_ = std::make_shared<const std::string>(text_of(peers_json(*pool_)));
      return Page(http::status::ok, "application/json", peers_);
    }
    if (path == "/healthz") return health();
    return short_page(http::status::not_found, "try /metrics, /healthz or /peers.json");
  }

 private:
  Page health() const {
    const std::uint32_t live = pool_->now.live;
    if (live >= pool_->min_peers) return short_page(http::status::ok, "ok");
    return short_page(http::status::service_unavailable, std::to_string(live) +
                                                             " peers live, --min-peers asks for " +
                                                             std::to_string(pool_->min_peers));
  }

  std::shared_ptr<const PoolSnapshot> pool_;
  Text metrics_, peers_;
};

// Not that the other side has gone, or was too slow.
bool is_about_the_message(const error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

struct Session {
  explicit Session(tcp::socket socket) : stream(std::move(socket)) {}
  beast::tcp_stream stream;
};
using SessionRef = std::shared_ptr<Session>;

}  // namespace

class MetricsServer::Lane {
 public:
  explicit Lane(const Endpoint& listen)
      : acceptor_(listening_socket(io_, listen)),
        newest_(std::make_shared<const PoolSnapshot>()),
        pages_(newest_) {
    asio::co_spawn(io_, accept_loop(), asio::detached);
    // Signals are the business of the thread that looks at them.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), "hearsay-metrics");
  }
  ~Lane() {
    io_.stop();
    thread_.join();
  }

  Endpoint address() const {
    const tcp::endpoint endpoint = acceptor_.local_endpoint();
    return {endpoint.address().to_string(), endpoint.port()};
  }

  void publish(PoolSnapshot pool) {
    auto fresh = std::make_shared<const PoolSnapshot>(std::move(pool));
    const std::lock_guard lock(mutex_);
    newest_.swap(fresh);
  }

 private:
  // Memory may run out over an answer; that is no reason for a pool to end.
  void run() {
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception&) {
        continue;
      }
    }
  }

  asio::awaitable<void> accept_loop() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(kToken);
      if (error) {
        asio::steady_timer pause(io_, kAcceptPause);
        co_await pause.async_wait(kToken);
        continue;
      }
      fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
      if (sessions_.size() >= kMostConnections) {
        sessions_.front()->stream.close();
        sessions_.pop_front();
      }
      sessions_.push_back(std::make_shared<Session>(std::move(socket)));
      asio::co_spawn(io_, serve(sessions_.back()), asio::detached);
    }
  }

  asio::awaitable<void> serve(SessionRef session) {
    co_await answer(session->stream);
    session->stream.close();
    std::erase(sessions_, session);
  }

  // Whoever asks for nothing, or sends nothing whole in time, gets no answer.
  asio::awaitable<void> answer(beast::tcp_stream& stream) {
    beast::flat_buffer buffer(2 * kMostHeaderBytes);
    http::request_parser<http::empty_body> parser;
    parser.header_limit(kMostHeaderBytes);
    stream.expires_after(kRequestTime);
    auto [error, read_bytes] = co_await http::async_read_header(stream, buffer, parser, kToken);
    if (error && !is_about_the_message(error)) co_return;
    const Page page = page_for(error, parser.get());
    http::response<http::span_body<const char>> response(page.status, 11);
    response.set(http::field::content_type, page.type);
    response.set(http::field::connection, "close");
    response.set(http::field::cache_control, "no-store");
    if (page.status == http::status::method_not_allowed)
      response.set(http::field::allow, "GET, HEAD");
    response.body() = beast::span<const char>(page.body->data(), page.body->size());
    response.prepare_payload();
    http::response_serializer<http::span_body<const char>> serializer(response);
    stream.expires_after(kAnswerTime);
    if (!error && parser.get().method() == http::verb::head) {
      co_await http::async_write_header(stream, serializer, kToken);
    } else {
      co_await http::async_write(stream, serializer, kToken);
    }
    co_await part_from(stream);
  }

  Page page_for(const error_code& error, const http::request<http::empty_body>& request) {
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return short_page(http::status::request_header_fields_too_large, "the header is too large");
    if (error) return short_page(http::status::bad_request, "this is no HTTP request");
    const std::string_view target(request.target().data(), request.target().size());
    Page page = pages().page_for(target.substr(0, target.find('?')));
    const bool reads = request.method() == http::verb::get || request.method() == http::verb::head;
    if (page.status != http::status::not_found && !reads)
      return short_page(http::status::method_not_allowed, "this can only be read: GET or HEAD");
    return page;
  }

  Pages& pages() {
    std::shared_ptr<const PoolSnapshot> newest;
    {
      const std::lock_guard lock(mutex_);
      newest = newest_;
    }
    if (newest.get() != pages_.source()) pages_ = Pages(std::move(newest));
    return pages_;
  }

  static asio::awaitable<void> part_from(beast::tcp_stream& stream) {
    error_code ignored;
    stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream.expires_after(kPartingTime);
    std::array<char, 16 * 1024> rest;
    for (std::size_t taken = 0; taken < kPartingBytes;) {
      auto [error, bytes] = co_await stream.async_read_some(asio::buffer(rest), kToken);
      if (error) co_return;
      taken += bytes;
    }
  }

  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  std::deque<SessionRef> sessions_;  // oldest first; of the lane's thread, as pages_
  std::mutex mutex_;
  std::shared_ptr<const PoolSnapshot> newest_;  // guarded
  Pages pages_;
  std::thread thread_;
};

MetricsServer::MetricsServer(const Endpoint& listen) : lane_(std::make_unique<Lane>(listen)) {}
MetricsServer::~MetricsServer() = default;
Endpoint MetricsServer::address() const { return lane_->address(); }
void MetricsServer::publish(PoolSnapshot pool) { lane_->publish(std::move(pool)); }

namespace {

asio::awaitable<void> get(const Endpoint& server, const std::string& target,
                          std::chrono::milliseconds at_most, HttpAnswer& answer) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  auto [unknown, found] =
      co_await resolver.async_resolve(server.host, std::to_string(server.port), kToken);
  answer.error = unknown.message();
  if (unknown) co_return;
  beast::tcp_stream stream(executor);
  stream.expires_after(at_most);
  auto [refused, endpoint] = co_await stream.async_connect(found, kToken);
  answer.error = refused.message();
  if (refused) co_return;
  http::request<http::empty_body> request(http::verb::get, target, 11);
  request.set(http::field::host, server.text());
  request.set(http::field::connection, "close");
  auto [unsent, sent_bytes] = co_await http::async_write(stream, request, kToken);
  answer.error = unsent.message();
  if (unsent) co_return;
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMostAnswerBytes);
  auto [unread, read_bytes] = co_await http::async_read(stream, buffer, parser, kToken);
  answer.error = unread.message();
  answer.is_foreign = is_about_the_message(unread);
  if (unread) co_return;
  answer.error.clear();
  answer.status = parser.get().result_int();
  answer.body = std::move(parser.get().body());
}

}  // namespace

HttpAnswer http_get(const Endpoint& server, const std::string& target,
                    std::chrono::milliseconds at_most) {
  HttpAnswer answer;
  asio::io_context io{1};
  asio::co_spawn(io, get(server, target, at_most, answer), asio::detached);
  io.run();
  return answer;
}

}  // namespace hearsay::runtime
