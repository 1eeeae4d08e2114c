// SPDX-License-Identifier: Apache-2.0
#include "runtime/replay/frame_store.hpp"

#include <utility>

#include "gossip/event.hpp"

namespace hearsay::runtime {

FrameKey key_of(const gossip::Frame& frame) {
  return {frame.from.value, frame.to.value, frame.kind, frame.seq, frame.slice};
}

std::string text_of(const FrameKey& key) {
  return "weights " + std::to_string(key.seq) + " of " +
         gossip::peer_name(kernels::PeerId(key.from));
}

void FrameStore::put(const gossip::Frame& frame) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = expected_.find(key_of(frame));
    if (found == expected_.end()) return;
    found->second.made.push_back({frame.values, frame.packed});
    awaited_.erase(found->first);
  }
  changed_.notify_all();
}

bool FrameStore::give(gossip::Frame& frame) {
  const FrameKey key = key_of(frame);
  std::unique_lock lock(mutex_);
  const auto found = expected_.find(key);
  if (found == expected_.end()) return false;  // told twice
  Slot& slot = found->second;
  if (slot.made.empty() && !ended_.contains(key.from) && !stuck_) {
    turnstile_.leave();
    awaited_.insert(key);
    look_whether_stuck();
    changed_.wait(lock, [&] { return !slot.made.empty() || stuck_ || ended_.contains(key.from); });
    awaited_.erase(key);
    lock.unlock();
    turnstile_.enter();
    lock.lock();
  }
  if (!slot.made.empty()) {
    frame.values = std::move(slot.made.front().values);
    frame.packed = std::move(slot.made.front().packed);
    slot.made.pop_front();
  }
  if (--slot.wanted == 0) expected_.erase(found);
  return frame.carries_weights();
}

void FrameStore::end(std::uint32_t peer) {
  {
    const std::lock_guard lock(mutex_);
    ended_.insert(peer);
    --running_;
    std::erase_if(awaited_, [&](const FrameKey& key) { return key.from == peer; });
    look_whether_stuck();
  }
  changed_.notify_all();
}

void FrameStore::look_whether_stuck() {
  if (running_ == 0 || awaited_.size() < running_) return;
  stuck_ = true;
  changed_.notify_all();
}

void FrameStore::stop() {
  {
    const std::lock_guard lock(mutex_);
    stuck_ = true;
  }
  changed_.notify_all();
}

}  // namespace hearsay::runtime
