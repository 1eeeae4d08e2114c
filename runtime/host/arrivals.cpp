// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/arrivals.hpp"

#include <utility>

#include "gossip/limits.hpp"

namespace hearsay::runtime {

bool Arrivals::frame_arrived(gossip::Frame& frame) {
  {
    const std::lock_guard lock(mutex_);
    if (frames_ >= gossip::limits::kArrivalFrames) return false;
    ++frames_;
    items_.push_back(std::move(frame));
  }
  changed_.notify_one();
  return true;
}

void Arrivals::peer_down(kernels::PeerId who, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    items_.push_back(PeerDown{who, why});
  }
  changed_.notify_one();
}

void Arrivals::fault(const std::string& kind, const std::string& detail) {
  {
    const std::lock_guard lock(mutex_);
    items_.push_back(TransportFault{kind, detail});
  }
  changed_.notify_one();
}

std::deque<Arrivals::Item> Arrivals::take(std::chrono::nanoseconds at_most) {
  std::unique_lock lock(mutex_);
  if (at_most.count() > 0) changed_.wait_for(lock, at_most, [this] { return !items_.empty(); });
  frames_ = 0;
  return std::exchange(items_, {});
}

}  // namespace hearsay::runtime
