// SPDX-License-Identifier: Apache-2.0
// A peer process that is a child of this one. It runs in a session of its own, so that a terminal's
// Ctrl-C reaches only the watcher; it gets SIGHUP when its parent dies, however that happens; its
// output goes to a file. Invariant: it is waited for, so no zombie stays, and destroying a
// LocalPeer that still runs kills it. Lane: the watcher's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/launch/thaw_guard.hpp"
#include "runtime/launch/watched_peer.hpp"

namespace hearsay::runtime {

struct ChildCommand {
  std::vector<std::string> words;                                // program and arguments
  std::vector<std::pair<std::string, std::string>> environment;  // set on top of the own one
  std::vector<std::string> dropped_prefixes;  // variables that it must not inherit: "OMPI_"
  std::string output_path;                    // its stdout and stderr
};

class LocalPeer final : public WatchedPeer {
 public:
  // Starts it. Throws UsageError when that fails, also when the program cannot be executed.
  LocalPeer(std::string name, const ChildCommand& command);
  ~LocalPeer() override;
  LocalPeer(const LocalPeer&) = delete;
  LocalPeer& operator=(const LocalPeer&) = delete;

  const std::string& name() const override { return name_; }
  std::string host() const override;
  int pid() const override { return pid_; }
  double cpu_s() const override;
  std::vector<control::FromPeer> receive() override;
  const std::optional<PeerExit>& exit() const override { return exit_; }
  std::string last_stderr_line() const override;
  void send(const control::ToPeer& order) override;
  void signal(int number) override;
  void add_descriptors(std::vector<pollfd>& descriptors) const override;

 private:
  void reap();

  std::string name_, output_path_;
  int pid_ = -1;
  int pidfd_ = -1;  // readable once the process has ended
  std::unique_ptr<ControlChannel> channel_;
  std::optional<PeerExit> exit_;
  std::optional<ThawGuard> frozen_;  // while SIGSTOP holds it
  double cpu_s_ = 0.0;               // once it has ended
};

// SIGKILL to every LocalPeer of this process. A signal handler may call it.
void kill_local_peers() noexcept;

// "exit code 3", "killed by SIGKILL", from what waitpid() says.
PeerExit exit_from_status(int status);

}  // namespace hearsay::runtime
