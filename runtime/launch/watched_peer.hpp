// SPDX-License-Identifier: Apache-2.0
// A peer process as its pool's watcher sees it, wherever it runs: a child of this process
// (local_peer.hpp) or another supervisor's child under mpirun (remote_peer.hpp). Invariant: nothing
// here waits; exit() is set once and stays until the peer is started again, and no message comes
// after the round in which it was set. Lane: the watcher's thread.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/launch/control.hpp"

namespace hearsay::runtime {

struct PeerExit {
  std::string text;  // "exit code 3", "killed by SIGKILL"
  int code = 0;      // meaningless when a signal ended it
  int signal = 0;    // 0: it left by itself
  bool ended_well() const noexcept { return code == 0 && signal == 0; }
};

class WatchedPeer {
 public:
  virtual ~WatchedPeer() = default;

  virtual const std::string& name() const = 0;  // "p03"
  virtual std::string host() const = 0;
  virtual int pid() const = 0;       // on that host; stays after the end
  virtual double cpu_s() const = 0;  // processor time used so far, as far as known

  virtual std::vector<control::FromPeer> receive() = 0;  // what came since the last call
  virtual const std::optional<PeerExit>& exit() const = 0;
  virtual std::string last_stderr_line() const = 0;  // empty when it printed nothing

  virtual void send(const control::ToPeer& order) = 0;  // nothing happens when it has ended
  virtual void signal(int number) = 0;

  // Once it has ended: a new process in its place. Throws UsageError when that fails here; on
  // another host it then just ends again.
  virtual void start_again() = 0;

  // Descriptors that wake the watcher up when this peer has something to say; may add none.
  virtual void add_descriptors(std::vector<pollfd>& descriptors) const = 0;
};

}  // namespace hearsay::runtime
