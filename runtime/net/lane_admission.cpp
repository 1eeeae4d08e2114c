// SPDX-License-Identifier: Apache-2.0
// Who may be here. How a running peer lets others in by hand: any free place, or the one that is
// asked for. A place is free when nobody has taken it, or when whoever had it is found not to be
// there any more. And how strangers, and peers whose certificate is revoked, are shown out.
#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "gossip/event.hpp"
#include "gossip/limits.hpp"
#include "runtime/net/lane.hpp"
#include "runtime/net/own_address.hpp"

namespace hearsay::runtime {
namespace {

namespace asio = boost::asio;
namespace limits = gossip::limits;
using namespace std::chrono_literals;
using Clock = Connection::Clock;
using kernels::PeerId;

// From a place's promise to its peer's first hello: it loads its data in between.
constexpr auto kPromise = 30s;
// A connection on which nothing has moved for this long does not show that its peer is there.
constexpr auto kSurelyThere = 5s;
constexpr auto kLook = 20ms;
constexpr std::size_t kMostStrangersTold = 20;
constexpr const char* kRevoked = "its certificate is revoked";

}  // namespace

// Why nobody here could make use of such a peer; empty when they can.
std::string Transport::Lane::refusal_of(const JoinRequest& request,
                                        const Connection& connection) const {
  if (connection.is_local() || !is_loopback(request.address.host)) return {};
  return "its address " + request.address.text() + " means nothing to " + announced_.text() +
         "; --listen or --announce another one";
}

bool Transport::Lane::is_promised(const Link& link, const JoinRequest& request) const {
  return Clock::now() < link.promised_until && link.promised_to != request.nonce;
}

bool Transport::Lane::was_ever_taken(const Link& link) const {
  return link.nonce != 0 || !link.address.host.empty() || link.departed;
}

// Whether the owner of a place is there: by what has moved lately, else it is dialled and has to
// say hello.
asio::awaitable<bool> Transport::Lane::is_there(Link& link) {
  const auto quiet_for = [&] {
    return Clock::now().time_since_epoch() - std::chrono::nanoseconds(link.moved_at);
  };
  if (!link.open.empty() && quiet_for() < kSurelyThere) co_return true;
  if (link.departed && link.open.empty()) co_return false;
  if (link.address.host.empty()) co_return !link.open.empty();
  if (!link.dialling) {
    link.dialling = true;
    spawn(dial(link));
  }
  asio::steady_timer pause(io_);
  while (link.dialling) {  // kHandshakeTimeout at most
    pause.expires_after(kLook);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return !link.open.empty() && quiet_for() < kSurelyThere;
}

// A promise to a process that does not even listen any more is none. It may be loading its data, so
// nothing but the system answers there yet.
asio::awaitable<void> Transport::Lane::void_if_gone(Link& link) {
  const ConnectionRef connection = connection_of(asio::ip::tcp::socket(io_));
  handshaking_.emplace(connection, Clock::now());
  const Endpoint address = link.promised_at;
  const Connection::Status status = co_await connection->reach(address);
  handshaking_.erase(connection);
  connection->close("looked");
  if (!status.ok() && link.promised_at == address) link.promised_until = Clock::now();
}

// A place for whoever asks; else `refusal` or `busy` says why there is none.
asio::awaitable<Transport::Lane::Link*> Transport::Lane::find_place(const JoinRequest& request,
                                                                    Connection& connection,
                                                                    std::string& refusal,
                                                                    std::string& busy) {
  std::vector<Link*> untaken, taken;
  for (Link& link : links_) {
    const bool is_wanted = !request.place || link.peer == *request.place;
    if (is_wanted && is_promised(link, request)) co_await void_if_gone(link);
  }
  for (Link& link : links_) {
    if (link.peer == self_.peer || (request.place && link.peer != *request.place)) continue;
    const bool is_found_taken = std::find(request.not_free.begin(), request.not_free.end(),
                                          link.peer) != request.not_free.end();
    if (is_promised(link, request)) {
      busy = "the last free place is being taken";
    } else if (was_ever_taken(link) || is_found_taken) {
      taken.push_back(&link);
    } else {
      untaken.push_back(&link);
    }
  }
  const std::string later = std::exchange(busy, std::string());
  if (!untaken.empty()) co_return untaken.front();
  JoinAnswer asking;
  asking.what = JoinAnswer::What::wait;
  for (Link* link : taken) {
    asking.text = "asking whether " + gossip::peer_name(link->peer) + " is still there";
    const std::string text = encode_answer(asking);
    const auto told = co_await connection.write_text(wire::Kind::welcome, self_.peer, text);
    if (!told.ok()) co_return nullptr;
    const bool there = co_await is_there(*link);
    if (!there && was_ever_taken(*link) && !is_promised(*link, request)) co_return link;
  }
  busy = later;
  if (!busy.empty()) co_return nullptr;
  if (request.place && request.place->value >= self_.peers) {
    refusal = "there is no " + gossip::peer_name(*request.place) + " in a pool of " +
              std::to_string(self_.peers) + " peers";
  } else if (request.place) {
    refusal = gossip::peer_name(*request.place) + " is taken, and its peer is there";
  } else {
    refusal = "the pool is full: all " + std::to_string(self_.peers) +
              " places are taken (the first peer's --peers sets the number)";
  }
  co_return nullptr;
}

JoinAnswer Transport::Lane::answer_with(Link* link, const JoinRequest& request,
                                        const Connection& connection) {
  JoinAnswer answer;
  const bool is_near = connection.is_local();
  for (const Link& each : links_) {
    const bool own = each.peer == self_.peer;
    const Endpoint& address = own ? announced_ : each.address;
    if (&each == link || each.departed || address.host.empty()) continue;
    answer.present.push_back(each.peer);
    if ((is_near || !is_loopback(address.host)) && answer.book.size() < kBookEntries)
      answer.book.push_back(
          {each.peer, own ? self_.incarnation : each.address_incarnation, address});
  }
  if (link == nullptr) {
    answer.what = JoinAnswer::What::busy;
    return answer;
  }
  // A later start than any that was heard of or promised.
  const bool is_new = !was_ever_taken(*link) && link->promised_until == Time{};
  const bool again = link->promised_to == request.nonce && Clock::now() < link->promised_until;
  if (!is_new && !again) {
    link->promised_incarnation =
        std::max({link->incarnation, link->address_incarnation, link->promised_incarnation}) + 1;
  }
  link->promised_to = request.nonce;
  link->promised_at = request.address;
  link->promised_until = Clock::now() + kPromise;
  answer.peer = link->peer;
  answer.incarnation = link->promised_incarnation;
  answer.late = true;
  answer.pool = admission_;
  answer.present.push_back(link->peer);
  return answer;
}

Transport::Lane::Task Transport::Lane::let_in(ConnectionRef connection, std::string text) {
  const std::optional<JoinRequest> request = decode_join(text);
  std::string refusal, busy;
  Link* link = nullptr;
  if (!request) refusal = "a request that cannot be read";
  if (refusal.empty() && admission_.config.empty())
    refusal = "this pool's places are filled by its launcher";
  if (refusal.empty()) refusal = refusal_of(*request, *connection);
  if (refusal.empty() && request->place == self_.peer)
    refusal = gossip::peer_name(self_.peer) + " is taken, and its peer is there";
  if (refusal.empty()) link = co_await find_place(*request, *connection, refusal, busy);
  if (draining_) {
    busy = "this peer is leaving";
    link = nullptr;
  }
  if (refusal.empty()) {
    JoinAnswer answer = answer_with(link, *request, *connection);
    answer.text = busy;
    const std::string out = encode_answer(answer);
    co_await connection->write_text(wire::Kind::welcome, self_.peer, out);
  } else {
    co_await connection->write_text(wire::Kind::refused, self_.peer, refusal);
    stranger(*connection, refusal);
  }
  connection->finish_sending();
  connection->close("answered");
}

void Transport::Lane::stranger(const Connection& connection, const std::string& why) {
  ++meter_.refused;
  const std::string remote = connection.remote();
  tell_once(remote.substr(0, remote.find_last_of(':')), "connection refused", remote + ": " + why);
}

// Whoever is refused tries again, from another port and for hours.
void Transport::Lane::tell_once(const std::string& who, const std::string& kind,
                                const std::string& detail) {
  const std::string reason = detail.substr(std::min(detail.find(": "), detail.size()));
  if (told_.size() >= kMostStrangersTold || !told_.insert(who + kind + reason).second) return;
  events_->fault(kind, detail);
}

Transport::Lane::ConnectionRef Transport::Lane::connection_of(asio::ip::tcp::socket socket) {
  return std::make_shared<Connection>(std::move(socket), meter_, options_.security);
}

void Transport::Lane::close_revoked() {
  RevocationList* const revoked = options_.security ? options_.security->revoked() : nullptr;
  if (revoked == nullptr) return;
  if (const std::string fault = revoked->take_fault(); !fault.empty())
    events_->fault("revocations", fault + "; those known before hold as well");
  for (const auto& [connection, since] : std::map(handshaking_)) {
    if (connection->is_revoked()) connection->close(kRevoked);
  }
  for (Link& link : links_) {
    for (const ConnectionRef& connection : std::vector(link.open)) {
      if (!connection->is_revoked()) continue;
      events_->fault("peer revoked",
                     gossip::peer_name(link.peer) + ": " + connection->remote() + ": " + kRevoked);
      connection->close(kRevoked);
    }
  }
}

}  // namespace hearsay::runtime
