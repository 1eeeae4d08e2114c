// SPDX-License-Identifier: Apache-2.0
// What has come in from the io lane and waits for the compute lane. Bounded: frames find no room
// once limits::kArrivalFrames wait, and their connections are then not read. The only thing that
// the two lanes share.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <variant>

#include "gossip/frame.hpp"
#include "runtime/net/transport.hpp"

namespace hearsay::runtime {

class Arrivals final : public TransportEvents {
 public:
  struct PeerDown {
    kernels::PeerId who;
    std::string why;
  };
  struct TransportFault {
    std::string kind, detail;
  };
  using Item = std::variant<gossip::Frame, PeerDown, TransportFault>;

  bool frame_arrived(gossip::Frame& frame) override;
  void peer_down(kernels::PeerId who, const std::string& why) override;
  void fault(const std::string& kind, const std::string& detail) override;

  // Everything that is there, in order of arrival; waits up to `at_most` for the first.
  std::deque<Item> take(std::chrono::nanoseconds at_most);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  std::size_t frames_ = 0;
};

}  // namespace hearsay::runtime
