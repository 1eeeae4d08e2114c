// SPDX-License-Identifier: Apache-2.0
// What a peer process and its watcher (`hearsay launch`, or a supervisor under mpirun) say to each
// other: JSON lines over an inherited socket pair, so no port and no secret is needed.
//
//   peer -> watcher   {"is":"ready","address":"127.0.0.1:40123"}   data loaded, listening
//                     {"is":"status", ...}                         PeerStatus
//                     {"is":"notice","text":"p01 lost (connection reset)"}
//                     {"is":"ended","reason":"finished","alive":true}
//   watcher -> peer   {"do":"start","run":"runs/x","peers":["127.0.0.1:40123", ...],   in id order
//                      "incarnation":1,"late":true}
//                     {"do":"stop","reason":"target reached"}
//                     {"do":"evaluate","round":3}                  now; the next status answers
//                     {"do":"slow","factor":4}                     sleeps 3 times each mini-batch
//                     {"do":"network","drop":0.01,"corrupt":0,"parted":[3]}
//
// The number of the inherited descriptor is in HEARSAY_CONTROL_FD, the peer's id in HEARSAY_PEER,
// the pool's size in HEARSAY_PEERS. End of file means that the other side has died.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/launch/peer_status.hpp"
#include "runtime/net/network_faults.hpp"

namespace hearsay::runtime {

namespace control {

struct Ready {
  std::string address;  // HOST:PORT, [HOST]:PORT for IPv6
};
struct Notice {
  std::string text;
};
struct Ended {
  std::string reason;
  bool alive = true;
};
using FromPeer = std::variant<Ready, PeerStatus, Notice, Ended>;

struct Start {
  std::string run;                 // path of the run directory
  std::vector<std::string> peers;  // addresses in id order, this peer's own included
  std::uint64_t incarnation = 0;   // rises with every start of the same peer
  bool late = false;               // the others train already: begins with the weights of one
};
struct Stop {
  std::string reason;
};
struct Evaluate {
  std::uint64_t round = 1;  // rises
};
struct Slow {
  double factor = 1.0;
};
using Network = NetworkFaults;
struct Hostile {  // an attack by its name (sim/tamper.hpp), label-flip or poison
  std::string what;
  double strength = 1.0;
  bool begins = true;
};
using ToPeer = std::variant<Start, Stop, Evaluate, Slow, Network, Hostile>;

std::string encode(const FromPeer& message);  // one line, with its newline
std::string encode(const ToPeer& message);
// Empty for anything that is no such message: the two sides are one program, so a line that cannot
// be read comes from a foreign writer and is ignored.
std::optional<FromPeer> decode_from_peer(std::string_view line);
std::optional<ToPeer> decode_to_peer(std::string_view line);

}  // namespace control

// One end of the socket pair: lines out without blocking, lines in. Owns the descriptor. One
// thread.
class ControlChannel {
 public:
  explicit ControlChannel(int fd);  // made non-blocking, close-on-exec
  ControlChannel(ControlChannel&& other) noexcept;
  ControlChannel& operator=(ControlChannel&&) = delete;
  ~ControlChannel();

  int fd() const noexcept { return fd_; }
  // Appends to the out buffer and writes what the socket takes. A status gives way when more than
  // kMostBuffered bytes wait: the next one says more.
  void send(const std::string& line, bool may_drop = false);
  // Writes what waits; true when nothing is left.
  bool flush();
  // Reads what is there; returns the whole lines, without newlines. Lines above kMostLine are
  // thrown away.
  std::vector<std::string> receive();
  bool closed() const noexcept { return closed_; }  // the other side is gone

 private:
  static constexpr std::size_t kMostBuffered = 64 * 1024;
  static constexpr std::size_t kMostLine = 1024 * 1024;
  int fd_;
  bool closed_ = false;
  std::string out_, in_;
};

}  // namespace hearsay::runtime
