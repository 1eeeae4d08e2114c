// SPDX-License-Identifier: Apache-2.0
// A peer process that is the child of another rank's supervisor, as rank 0 sees it. All of them
// share one SupervisorMail, which sorts what arrives. Invariant: a peer's messages keep their
// order. Lane: rank 0's thread. Cost: one MPI_Iprobe a look.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/launch/mpi_link.hpp"
#include "runtime/launch/relay.hpp"
#include "runtime/launch/watched_peer.hpp"

namespace hearsay::runtime {

class SupervisorMail {
 public:
  explicit SupervisorMail(MpiLink& link) : link_(link) {}
  // What every supervisor says first of all; empty until it is there.
  std::optional<relay::Hello> take_hello(int rank);
  // What came from `rank` since the last call.
  std::vector<relay::FromSupervisor> take(int rank);
  void send(int rank, const relay::ToSupervisor& message);

 private:
  void sort_arrivals();

  MpiLink& link_;
  std::map<int, std::vector<relay::FromSupervisor>> waiting_;
};

class RemotePeer final : public WatchedPeer {
 public:
  RemotePeer(std::string name, int rank, relay::Hello hello, SupervisorMail& mail);

  const std::string& name() const override { return name_; }
  std::string host() const override { return hello_.host; }
  int pid() const override { return hello_.pid; }
  double cpu_s() const override { return cpu_s_; }
  std::vector<control::FromPeer> receive() override;
  const std::optional<PeerExit>& exit() const override { return exit_; }
  std::string last_stderr_line() const override { return stderr_line_; }
  void send(const control::ToPeer& order) override;
  void signal(int number) override;
  void start_again() override;
  void add_descriptors(std::vector<pollfd>&) const override {}

 private:
  std::string name_;
  int rank_;
  relay::Hello hello_;
  SupervisorMail& mail_;
  std::optional<PeerExit> exit_;
  double cpu_s_ = 0.0;
  std::string stderr_line_;
};

}  // namespace hearsay::runtime
