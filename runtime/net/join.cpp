// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/join.hpp"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "gossip/limits.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/net/lane.hpp"

namespace hearsay::runtime {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::error_code;
using Status = Connection::Status;
using Task = asio::awaitable<void>;

constexpr auto kTick = 500ms;

asio::awaitable<Status> read_message(Connection& connection, wire::Header& header,
                                     std::string& text) {
  Status status = co_await connection.read_header(header);
  if (status.ok()) status = co_await connection.read_text(header, text);
  co_return status;
}

// Runs `io` in ticks until `done` or `tick` says that it is enough; then no handler is left.
bool run_until(asio::io_context& io, const bool& done, const std::function<bool()>& tick) {
  while (!done) {
    io.restart();
    io.run_for(kTick);
    if (!done && !tick()) return false;
  }
  return true;
}

void rethrow(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

}  // namespace

// The first peer's side, on the transport's own acceptor.
bool Transport::Lane::gather(const Gathering& plan) {
  using Joiners = std::vector<ConnectionRef>;
  const auto joiners = std::make_shared<Joiners>();
  bool all_here = plan.wanted == 0;
  std::size_t running = 0;  // coroutines: they refer to this frame, so it ends after them
  const auto spawn_here = [&](Task task) {
    ++running;
    asio::co_spawn(io_, std::move(task), [&running](std::exception_ptr error) {
      --running;
      rethrow(error);
    });
  };
  // A connection that asks, waits, and may go away while it waits.
  const auto serve = [&, joiners](ConnectionRef connection) -> Task {
    wire::Header header;
    std::string request;
    Status status = co_await read_message(*connection, header, request);
    std::string refusal;
    if (status.ok() && header.kind != static_cast<std::uint8_t>(wire::Kind::join))
      refusal = "this pool is still gathering; join it with hearsay train --join";
    if (status.ok() && refusal.empty()) refusal = plan.judge(joiners->size(), request);
    if (!status.ok() || !refusal.empty()) {
      if (status.ok())
        co_await connection->write_text(wire::Kind::refused, kernels::PeerId(), refusal);
      connection->finish_sending();
      connection->close("refused");
      co_return;
    }
    joiners->push_back(connection);
    all_here = joiners->size() == plan.wanted;
    if (all_here) co_return;
    status = co_await connection->read_header(header);  // nothing comes, but an end may
    if (!all_here) std::erase(*joiners, connection);
  };
  const auto accept = [&, joiners]() -> Task {
    while (!all_here) {
      asio::ip::tcp::socket socket(io_);
      const auto [error] =
          co_await acceptor_.async_accept(socket, asio::as_tuple(asio::use_awaitable));
      if (error == asio::error::operation_aborted) co_return;
      if (error || joiners->size() >= gossip::limits::kHalfOpenConnections) continue;
      spawn_here(serve(std::make_shared<Connection>(std::move(socket), meter_)));
    }
  };
  spawn_here(accept());
  const bool complete = run_until(io_, all_here, [&] { return plan.tick(joiners->size()); });
  // Whoever dials from now on waits in the backlog for start().
  error_code ignored;
  acceptor_.cancel(ignored);
  const auto answer_all = [&]() -> Task {
    for (std::size_t i = 0; i < joiners->size(); ++i) {
      const std::string answer = plan.answer(i);
      co_await (*joiners)[i]->write_text(wire::Kind::welcome, kernels::PeerId(), answer);
      (*joiners)[i]->finish_sending();
    }
    for (const ConnectionRef& connection : *joiners) connection->close("gathered");
  };
  if (complete) {
    spawn_here(answer_all());
  } else {
    for (const ConnectionRef& connection : *joiners) connection->close("given up");
  }
  while (running > 0) {
    io_.restart();
    io_.run_one();
  }
  io_.restart();
  return complete;
}

bool Transport::gather(const Gathering& plan) { return lane_->gather(plan); }

struct JoinClient::Open {
  asio::io_context io{1};
  MeterCounters unused;
  std::unique_ptr<Connection> connection;
};

JoinClient::JoinClient(std::unique_ptr<Open> open) : open_(std::move(open)) {}
JoinClient::JoinClient(JoinClient&&) noexcept = default;
JoinClient::~JoinClient() = default;

std::optional<JoinClient> JoinClient::dial(const Endpoint& first, const Tick& tick) {
  std::string why;
  for (;;) {
    auto open = std::make_unique<Open>();
    open->connection = std::make_unique<Connection>(asio::ip::tcp::socket(open->io), open->unused);
    bool done = false;
    Status status;
    asio::co_spawn(
        open->io,
        [&]() -> Task {
          status = co_await open->connection->connect(first);
          done = true;
        },
        rethrow);
    if (!run_until(open->io, done, [&] { return tick(why.empty() ? "no answer yet" : why); }))
      return std::nullopt;
    if (status.ok()) return JoinClient(std::move(open));
    why = status.why;
    if (!tick(why)) return std::nullopt;
    std::this_thread::sleep_for(kTick);
  }
}

std::string JoinClient::local_host() const { return open_->connection->local_host(); }

std::optional<std::string> JoinClient::ask(const std::string& request, const Tick& tick) {
  bool done = false;
  Status status;
  wire::Header header;
  std::string answer;
  asio::co_spawn(
      open_->io,
      [&]() -> Task {
        status =
            co_await open_->connection->write_text(wire::Kind::join, kernels::PeerId(), request);
        if (status.ok()) status = co_await read_message(*open_->connection, header, answer);
        done = true;
      },
      rethrow);
  if (!run_until(open_->io, done, [&] { return tick("waiting for the others"); }))
    return std::nullopt;
  if (!status.ok()) {
    throw kernels::UsageError("--join: the first peer went away: " +
                              (status.ended ? "connection closed" : status.why));
  }
  if (header.kind != static_cast<std::uint8_t>(wire::Kind::welcome))
    throw kernels::UsageError("--join: refused: " + answer);
  return answer;
}

}  // namespace hearsay::runtime
