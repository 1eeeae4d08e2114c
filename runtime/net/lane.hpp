// SPDX-License-Identifier: Apache-2.0
// The io lane behind Transport: one thread, one link a peer, at most two connections a link (two
// peers that dial each other at the same instant keep both; each goes on sending on the one that
// was open first on its side, so the order of its frames holds). Everything but the constructor,
// post() and join runs on the lane's thread, so nothing here is locked.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "runtime/net/connection.hpp"
#include "runtime/net/transport.hpp"

namespace hearsay::runtime {

class Transport::Lane {
 public:
  explicit Lane(TransportOptions options);
  ~Lane();

  Endpoint listening() const;
  bool gather(const Gathering& plan);  // join.cpp
  Endpoint announced() const { return announced_; }
  void start(Hello self, TransportEvents& events, bool greets, Admission admission,
             gossip::wire::CodecBounds codec);
  void hand_over_by(std::shared_ptr<Handover> handover) { handover_ = std::move(handover); }
  void post(gossip::Frame frame, Delivery delivery);
  bool drain(std::chrono::nanoseconds at_most);
  TransportMeter meter() const;
  using Time = Connection::Clock::time_point;
  Time moved_at(kernels::PeerId peer) const;
  std::optional<std::string> displaced() const;

 private:
  using ConnectionRef = std::shared_ptr<Connection>;
  using Task = boost::asio::awaitable<void>;

  struct Outgoing {
    Outgoing(gossip::Frame f, Delivery d) : frame(std::move(f)), delivery(d) {}
    gossip::Frame frame;
    Delivery delivery;
  };

  // What is handed over on one connection.
  struct Lending {
    bool other_can_take = false;
    std::deque<merge::SnapshotRef> lent;  // until the other side has taken them, oldest first
    std::size_t owes = 0;                 // it has taken that many and has not yet said so
  };

  struct Link {
    kernels::PeerId peer;
    Endpoint address;                       // without a host: nobody has said it yet
    std::uint64_t address_incarnation = 0;  // of the start that listens there
    std::deque<Outgoing> queue;
    std::size_t weights_waiting = 0;
    std::vector<ConnectionRef> open;  // the first one sends
    ConnectionRef dialled_in;         // of those, the one that the peer has made
    std::map<ConnectionRef, Lending> lending;
    std::string offer;                       // of its last hello
    std::unique_ptr<HandoverSource> source;  // null: its weights come as bytes
    bool dialling = false, dropping = false;
    bool departed = false;                  // has said goodbye and has not started again since
    std::uint64_t incarnation = 0;          // of the newest process that has shaken hands
    std::uint64_t nonce = 0;                // of that process; 0 = none has yet
    std::atomic<std::int64_t> moved_at{0};  // steady clock, ns
    // A place that was given away by hand, until its peer says hello.
    std::uint64_t promised_to = 0, promised_incarnation = 0;
    Endpoint promised_at;
    Time promised_until{};
    Time redial_at{};
    std::chrono::nanoseconds redial_wait{};
  };

  Task accept_loop();
  Task welcome(ConnectionRef connection);
  Task dial(Link& link);
  Task read_frames(Link& link, ConnectionRef connection);
  Task write_frames(Link& link, ConnectionRef connection);
  Task watch();
  Task greet();
  // lane_admission.cpp
  Task let_in(ConnectionRef connection, std::string text);
  boost::asio::awaitable<Link*> find_place(const JoinRequest& request, Connection& connection,
                                           std::string& refusal, std::string& busy);
  boost::asio::awaitable<bool> is_there(Link& link);
  bool is_promised(const Link& link, const JoinRequest& request) const;
  boost::asio::awaitable<void> void_if_gone(Link& link);
  bool was_ever_taken(const Link& link) const;
  std::string refusal_of(const JoinRequest& request, const Connection& connection) const;
  JoinAnswer answer_with(Link* link, const JoinRequest& request, const Connection& connection);

  boost::asio::awaitable<Connection::Status> shake_hands(Link& link, Connection& connection);
  boost::asio::awaitable<Connection::Status> read_frame(Link& link, const ConnectionRef& connection,
                                                        const wire::Header& header,
                                                        gossip::Frame& out);
  // lane_handover.cpp
  void note_offer(Link& link, const Hello& hello);
  static bool is_of_handover(const wire::Header& header);
  std::string note_handover(Link& link, const ConnectionRef& connection,
                            const wire::Header& header);
  boost::asio::awaitable<Connection::Status> take_over(Link& link, const ConnectionRef& connection,
                                                       const wire::Header& header,
                                                       wire::Crc32c& sum, gossip::Frame& out);
  std::optional<HandoverTicket> lend(Link& link, const ConnectionRef& connection,
                                     const gossip::Frame& frame);
  boost::asio::awaitable<Connection::Status> write_frame(Link& link,
                                                         const ConnectionRef& connection,
                                                         const Outgoing& out);

  void spawn(Task task);
  void enqueue(Outgoing out);
  std::string note_start(Link& link, const Hello& hello);
  void learn_addresses(Link& link, const Hello& hello, const Connection& connection);
  void learn_address(Link& link, std::uint64_t incarnation, const Endpoint& address);
  std::string hello_for(const Connection& connection);
  void note_refusal(const Link& link, const std::string& why);
  void opened(Link& link, const ConnectionRef& connection);
  void lost(Link& link, const ConnectionRef& connection, const std::string& why, bool departed);
  void unreachable(Link& link, const std::string& why);
  void drop_queue(Link& link);
  void stranger(const Connection& connection, const std::string& why);
  void tell_once(const std::string& who, const std::string& kind, const std::string& detail);
  void close_revoked();
  ConnectionRef connection_of(boost::asio::ip::tcp::socket socket);
  void note_cpu_time();  // of this thread, into the meter
  void begin_drain();
  void close_all();
  void check_drained();

  TransportOptions options_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer tick_;
  Endpoint announced_;
  Hello self_;  // its book is made anew for every handshake
  Admission admission_;
  gossip::wire::CodecBounds codec_;
  std::shared_ptr<Handover> handover_;  // null: nothing is handed over
  TransportEvents* events_ = nullptr;
  std::deque<Link> links_;                     // by peer id; addresses stay
  std::map<ConnectionRef, Time> handshaking_;  // since when
  std::size_t half_open_ = 0;                  // of those, the accepted ones
  std::set<std::string> told_;                 // of whom what was said
  bool told_loopback_ = false;
  bool draining_ = false, left_unsent_ = false;
  MeterCounters meter_;

  mutable std::mutex mutex_;  // of drained_ and displaced_
  std::optional<std::string> displaced_;
  std::condition_variable drained_changed_;
  bool drained_ = false;
  std::thread thread_;
};

}  // namespace hearsay::runtime
