// SPDX-License-Identifier: Apache-2.0
// Frames between the processes of a pool over TCP. Owns the io lane: one thread with every socket.
// Connections are dialled when the first frame for a peer comes, carry frames both ways, and stay.
// Reading and writing are independent, so two peers that send to each other at once both move on.
// With security nothing is read or said before both sides are authenticated (security.hpp).
// Invariants: frames of one sender arrive in order, whole and checked, or not at all; nothing is
// set aside for a body before its header has been found right; whoever is not this pool's peer gets
// a refusal and no more. Cost: no copy of weights beyond the socket's own, one CRC each way.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gossip/frame.hpp"
#include "gossip/wire/header.hpp"
#include "merge/snapshot.hpp"
#include "runtime/net/endpoint.hpp"
#include "runtime/net/handover.hpp"
#include "runtime/net/hello.hpp"
#include "runtime/net/join.hpp"
#include "runtime/net/security.hpp"

namespace hearsay::runtime {

// The compute lane's side. Called on the io lane; returns at once.
class TransportEvents {
 public:
  virtual ~TransportEvents() = default;
  // False when there is no room: the frame is left as it is and offered again, and the connection
  // it came from is not read meanwhile.
  virtual bool frame_arrived(gossip::Frame& frame) = 0;
  // No connection to `who` is left and none could be made (also where nobody has said its address
  // yet), or one broke without a goodbye: a frame may have been lost.
  virtual void peer_down(kernels::PeerId who, const std::string& why) = 0;
  // A change of state that people may want to know: strangers refused, frames dropped.
  virtual void fault(const std::string& kind, const std::string& detail) = 0;
};

struct TransportOptions {
  Endpoint listen{"127.0.0.1", 0};
  std::optional<Endpoint> announce{};  // what others are to dial; else worked out from `listen`
  int socket_buffer_bytes = 0;         // 0: the system's choice; small ones are for tests
  // Memory for arriving weights of that many values.
  std::function<std::shared_ptr<merge::Snapshot>(std::size_t)> blank;
  std::shared_ptr<Security> security{};  // none: plain TCP, everybody is believed
};

struct TransportMeter {
  std::uint64_t frames_sent = 0, frames_received = 0, frames_dropped = 0;
  std::uint64_t payload_bytes_sent = 0, payload_bytes_received = 0;
  std::uint64_t example_bytes_sent = 0;  // of the payload
  // Handshakes included; what was handed over counts as what it would have been as bytes.
  std::uint64_t wire_bytes_sent = 0, wire_bytes_received = 0;
  std::uint64_t frames_handed_over = 0, frames_taken = 0;  // of those sent and received
  std::uint64_t dials = 0, refused = 0;
  double io_cpu_s = 0.0;  // of the io lane's thread, at most half a second old while it runs
};

class Transport {
 public:
  // Binds and listens at once. Throws UsageError when the address is taken or not this machine's.
  explicit Transport(TransportOptions options);
  ~Transport();  // closes without draining
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  Endpoint listening() const;  // with the port that the system chose
  Endpoint announced() const;  // what others are told to dial; see own_address.hpp
  // By hand: lets other peers in, before start(), on the caller's thread. False when it gave up.
  bool gather(const Gathering& plan);
  // Before start(): weights are handed over to processes that can take them, and taken from them.
  void hand_over_by(std::shared_ptr<Handover> handover);
  // Starts the io lane. The book of `self` names those whose addresses are known so far; others
  // become known when they say hello, or by the book of somebody who does. Its own address is added
  // here. With `greets` it says hello to everybody it hears of: whoever comes late or comes back is
  // known to all by that.
  // With an admission it lets others in by hand.
  // `codec`: what the pool's codec may say.
  void start(Hello self, TransportEvents& events, bool greets = false, Admission admission = {},
             gossip::wire::CodecBounds codec = {});
  // Any thread; never waits. A corrupted frame goes out with one wrong byte, for tests of others.
  enum class Delivery : bool { whole, corrupted };
  void send(gossip::Frame frame, Delivery delivery = Delivery::whole);
  // Sends what waits, says goodbye, and lets the others take it; at most that long. Then all is
  // closed. False when something was left unsent.
  bool drain(std::chrono::nanoseconds at_most);
  TransportMeter meter() const;  // any thread
  // Set once another process has this peer's place: why this one has to leave it. Any thread.
  std::optional<std::string> displaced() const;
  // When weights last moved to or from `peer`, in either direction; before the first, the clock's
  // epoch. Any thread.
  std::chrono::steady_clock::time_point moved_at(kernels::PeerId peer) const;

 private:
  class Lane;
  std::unique_ptr<Lane> lane_;
};

}  // namespace hearsay::runtime
