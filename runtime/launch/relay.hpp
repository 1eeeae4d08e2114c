// SPDX-License-Identifier: Apache-2.0
// What the supervisors of an MPI job say to each other: the lines of control.hpp, passed on between
// rank 0 and the peer of another rank, and six of their own. JSON, one object a message.
//
//   rank r -> 0   {"is":"hello","host":"n1","pid":4711}      pid of the peer
//                 {"is":"exit","text":"exit code 3",...}     its process has ended
//                 {"is":"cpu","cpu_s":1.5}                   processor time, now and then
//   rank 0 -> r   {"do":"signal","number":9}                 to the peer
//                 {"do":"start again"}                       a new process; hello follows
//                 {"do":"verdict","code":0}                  of the pool: end with it
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/launch/watched_peer.hpp"

namespace hearsay::runtime::relay {

struct Hello {
  std::string host;
  int pid = 0;
};
struct Exit {
  PeerExit exit;
  double cpu_s = 0.0;
  std::string stderr_line;  // the last one
};
struct Cpu {
  double cpu_s = 0.0;
};
using FromSupervisor = std::variant<Hello, Exit, Cpu, control::FromPeer>;

struct Signal {
  int number = 0;
};
struct StartAgain {};
struct Verdict {
  int code = 0;
};
using ToSupervisor = std::variant<Signal, StartAgain, Verdict, control::ToPeer>;

std::string encode(const FromSupervisor& message);
std::string encode(const ToSupervisor& message);
// Empty for anything that is no such message.
std::optional<FromSupervisor> decode_from_supervisor(std::string_view text);
std::optional<ToSupervisor> decode_to_supervisor(std::string_view text);

}  // namespace hearsay::runtime::relay
