// SPDX-License-Identifier: Apache-2.0
// One process's end in a network benchmark: a transport on loopback, what has arrived, and buffers
// that are used again. Any silence of a minute or broken connection is a Fault. The caller's thread
// is the compute lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/host/arrivals.hpp"
#include "runtime/host/snapshot_pool.hpp"
#include "runtime/net/transport.hpp"

namespace hearsay::runtime {

class NetPeer {
 public:
  // Listens at once; `values` is the size of the model that frames may carry.
  NetPeer(std::uint32_t self, std::uint32_t processes, std::size_t values,
          std::shared_ptr<Security> security = nullptr);

  std::uint16_t port() const { return transport_.listening().port; }
  void start(const std::vector<std::uint16_t>& ports);  // of all processes, in order
  // Called about once a second while this waits; throws when there is nothing to wait for.
  void look_with(std::function<void()> look) { look_ = std::move(look); }
  void finish();  // says goodbye; all processes call it at about the same time

  std::uint32_t self() const { return self_; }
  std::uint32_t processes() const { return processes_; }
  SnapshotPool& snapshots() { return snapshots_; }

  void send(gossip::Frame frame) { transport_.send(std::move(frame)); }
  void send(gossip::FrameKind kind, std::uint32_t to, std::uint64_t seq,
            merge::SnapshotRef values = nullptr);
  gossip::Frame next();  // the next frame that is not one of meet()'s
  void meet();           // returns once all processes have called it

 private:
  void take_arrivals();

  std::uint32_t self_, processes_;
  std::size_t values_;
  SnapshotPool snapshots_;
  Arrivals arrivals_;  // outlives the transport
  Transport transport_;
  std::function<void()> look_ = [] {};
  std::deque<gossip::Frame> frames_;       // arrived, not asked for yet
  std::uint32_t called_ = 0, let_go_ = 0;  // meet(): pings here at 0, pongs elsewhere
};

}  // namespace hearsay::runtime
