// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/join.hpp"

#include <chrono>
#include <set>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "gossip/limits.hpp"
#include "kernels/core/check.hpp"
#include "runtime/net/lane.hpp"
#include "runtime/net/own_address.hpp"

namespace hearsay::runtime {
namespace {

namespace asio = boost::asio;
namespace limits = gossip::limits;
using namespace std::chrono_literals;
using Clock = Connection::Clock;
using boost::system::error_code;
using Status = Connection::Status;
using Task = asio::awaitable<void>;

constexpr auto kTick = 500ms;
constexpr auto kTellWaiting = 4s;  // again, though nothing has changed
// Longer than it takes a member to find out whether an old owner of a place is still there.
constexpr auto kMostSilence = 8s;

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

// One that asks and waits.
struct Joiner {
  Joiner(std::shared_ptr<Connection> c, JoinRequest r)
      : connection(std::move(c)), request(std::move(r)) {}
  std::shared_ptr<Connection> connection;
  JoinRequest request;
  std::string told;  // what it waits for
  Clock::time_point told_at{};
};

Gathering::Requests requests_of(const std::vector<std::shared_ptr<Joiner>>& joiners) {
  Gathering::Requests requests;
  for (const auto& joiner : joiners) requests.push_back(joiner->request);
  return requests;
}

}  // namespace

// The first peer's side, on the transport's own acceptor.
bool Transport::Lane::gather(const Gathering& plan) {
  std::vector<std::shared_ptr<Joiner>> joiners;
  bool all_here = plan.wanted == 0, over = false;
  std::set<std::string> refused_told;
  std::size_t running = 0, asking = 0;  // coroutines: they refer to this frame, and end before it
  const auto spawn_here = [&](Task task) {
    ++running;
    asio::co_spawn(io_, std::move(task), [&running](std::exception_ptr error) {
      --running;
      rethrow(error);
    });
  };
  // A connection that asks, waits, and may go away while it waits.
  const auto serve = [&](ConnectionRef connection) -> Task {
    wire::Header header;
    std::string text, refusal;
    std::optional<JoinRequest> request;
    ++asking;
    handshaking_.emplace(connection, Clock::now());
    Status status = co_await connection->admit();
    if (status.ok()) status = co_await read_message(*connection, header, text);
    handshaking_.erase(connection);
    --asking;
    if (status.unproven && refused_told.insert(status.why).second && plan.refused)
      plan.refused(connection->remote() + ": " + status.why);
    if (status.ok() && header.kind != static_cast<std::uint8_t>(wire::Kind::join)) {
      refusal = "this pool is still gathering; join it with hearsay train --join";
    } else if (status.ok()) {
      request = decode_join(text);
      refusal = request ? refusal_of(*request, *connection) : "a request that cannot be read";
      if (refusal.empty()) refusal = plan.judge(*request, requests_of(joiners));
    } else if (status.foreign || (status.unproven && !options_.security)) {
      refusal = status.why;
    }
    if (refusal.empty() && all_here) {
      JoinAnswer begun;
      begun.what = JoinAnswer::What::busy;
      begun.text = "the pool has just begun";
      text = encode_answer(begun);
      co_await connection->write_text(wire::Kind::welcome, kernels::PeerId(), text);
    } else if (!refusal.empty()) {
      co_await connection->write_text(wire::Kind::refused, kernels::PeerId(), refusal);
    }
    if (!status.ok() || !refusal.empty() || all_here) {
      connection->finish_sending();
      connection->close("refused");
      co_return;
    }
    const auto joiner = std::make_shared<Joiner>(connection, *request);
    joiners.push_back(joiner);
    all_here = joiners.size() == plan.wanted;
    if (all_here) co_return;
    status = co_await connection->read_header(header);  // nothing comes, but an end may
    if (!all_here && !over) std::erase(joiners, joiner);
  };
  const auto accept = [&]() -> Task {
    while (!all_here) {
      asio::ip::tcp::socket socket(io_);
      const auto [error] =
          co_await acceptor_.async_accept(socket, asio::as_tuple(asio::use_awaitable));
      if (error == asio::error::operation_aborted) co_return;
      if (error || asking >= limits::kHalfOpenConnections) continue;
      spawn_here(serve(connection_of(std::move(socket))));
    }
  };
  // Says to those who wait for whom, and ends connections that say nothing.
  const auto tell = [&]() -> Task {
    asio::steady_timer pause(io_);
    while (!all_here && !over) {
      const auto now = Clock::now();
      for (const auto& [connection, since] : std::map(handshaking_)) {
        if (now - since > limits::kHandshakeTimeout) connection->close("no request in time");
      }
      JoinAnswer answer;
      answer.what = JoinAnswer::What::wait;
      answer.text = plan.waiting(joiners.size());
      for (const auto& joiner : std::vector(joiners)) {
        if (joiner->told == answer.text && now - joiner->told_at < kTellWaiting) continue;
        joiner->told = answer.text;
        joiner->told_at = now;
        const std::string text = encode_answer(answer);
        co_await joiner->connection->write_text(wire::Kind::welcome, kernels::PeerId(), text);
      }
      pause.expires_after(100ms);
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  };
  spawn_here(accept());
  spawn_here(tell());
  const bool complete = run_until(io_, all_here, [&] { return plan.tick(joiners.size()); });
  over = true;
  // Whoever dials from now on waits in the backlog for start().
  error_code ignored;
  acceptor_.cancel(ignored);
  const auto answer_all = [&]() -> Task {
    std::vector<JoinAnswer> answers;
    if (complete) answers = plan.answers(requests_of(joiners));
    HS_CHECK(!complete || answers.size() == joiners.size());
    for (std::size_t i = 0; i < joiners.size(); ++i) {
      std::string text = "the first peer has given up";
      if (complete) text = encode_answer(answers[i]);
      const wire::Kind kind = complete ? wire::Kind::welcome : wire::Kind::refused;
      co_await joiners[i]->connection->write_text(kind, kernels::PeerId(), text);
      joiners[i]->connection->finish_sending();
    }
    for (const auto& joiner : joiners) joiner->connection->close("gathered");
    for (const auto& [connection, since] : std::map(handshaking_)) connection->close("gathered");
  };
  spawn_here(answer_all());
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

JoinClient::JoinClient(JoinClient&&) noexcept = default;
JoinClient::~JoinClient() = default;

JoinClient::JoinClient(const Endpoint& member, const Tick& tick, std::shared_ptr<Security> security)
    : open_(std::make_unique<Open>()) {
  open_->connection = std::make_unique<Connection>(asio::ip::tcp::socket(open_->io), open_->unused,
                                                   std::move(security));
  bool done = false;
  Status status;
  asio::co_spawn(
      open_->io,
      [&]() -> Task {
        status = co_await open_->connection->connect(member);
        done = true;
      },
      rethrow);
  const auto begin = Clock::now();
  const bool ended = run_until(
      open_->io, done, [&] { return tick() && Clock::now() - begin < limits::kHandshakeTimeout; });
  unproven_ = ended && status.unproven;
  fault_ = ended ? status.why : member.text() + ": no connection in time";
  if (ended) return;
  open_->connection->close("given up");
  while (!done) {
    open_->io.restart();
    open_->io.run_one();
  }
}

std::string JoinClient::local_host() const { return open_->connection->local_host(); }

JoinClient::Reply JoinClient::ask(const JoinRequest& request, const Tick& tick,
                                  const std::function<void(const std::string&)>& waiting) {
  bool done = false;
  auto heard_at = Clock::now();
  Reply reply;
  const auto talk = [&]() -> Task {
    Connection& connection = *open_->connection;
    const std::string own = encode_join(request);
    Status status = co_await connection.write_text(wire::Kind::join, kernels::PeerId(), own);
    while (status.ok()) {
      wire::Header header;
      std::string text;
      status = co_await read_message(connection, header, text);
      if (!status.ok()) break;
      heard_at = Clock::now();
      reply.what = Reply::What::refused;
      reply.text = text;
      if (header.kind == static_cast<std::uint8_t>(wire::Kind::refused)) break;
      std::optional<JoinAnswer> answer = decode_answer(text);
      reply.what = Reply::What::foreign;
      reply.text = "an answer that cannot be read";
      if (!answer || header.kind != static_cast<std::uint8_t>(wire::Kind::welcome)) break;
      reply.what = Reply::What::lost;
      if (answer->what == JoinAnswer::What::wait) {
        waiting(answer->text);
        continue;
      }
      const bool is_place = answer->what == JoinAnswer::What::place;
      reply.what = is_place ? Reply::What::place : Reply::What::busy;
      reply.text = answer->text;
      reply.answer = std::move(*answer);
      break;
    }
    if (!status.ok()) {
      reply.what = status.foreign ? Reply::What::foreign : Reply::What::lost;
      reply.text = status.ended ? "it closed the connection" : status.why;
    }
    done = true;
  };
  asio::co_spawn(open_->io, talk(), rethrow);
  bool given_up = false;
  const bool answered = run_until(open_->io, done, [&] {
    given_up = !tick();
    return !given_up && Clock::now() - heard_at < kMostSilence;
  });
  if (answered) return reply;
  open_->connection->close("given up");
  while (!done) {
    open_->io.restart();
    open_->io.run_one();
  }
  reply.what = given_up ? Reply::What::given_up : Reply::What::lost;
  reply.text =
      "no answer within " + std::to_string(kMostSilence / 1s) + " s; is that a hearsay peer?";
  return reply;
}

}  // namespace hearsay::runtime
