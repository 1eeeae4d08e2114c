// SPDX-License-Identifier: Apache-2.0
#include "gossip/inbox.hpp"

#include <algorithm>
#include <utility>

#include "gossip/limits.hpp"

namespace hearsay::gossip {

std::optional<Frame> Inbox::add(Frame frame) {
  if (keep_ == Keep::newest) {
    const auto older = std::find_if(frames_.begin(), frames_.end(), [&](const Frame& f) {
      return f.from == frame.from && f.kind == frame.kind;
    });
    if (older != frames_.end()) {
      Frame replaced = std::move(*older);
      frames_.erase(older);
      frames_.push_back(std::move(frame));
      return replaced;
    }
  }
  const bool asked_for = frame.kind == FrameKind::reply || frame.kind == FrameKind::returned;
  if (!asked_for && frames_.size() >= limits::kInboxFrames) return frame;
  frames_.push_back(std::move(frame));
  return std::nullopt;
}

std::optional<Frame> Inbox::take() {
  if (frames_.empty()) return std::nullopt;
  Frame frame = std::move(frames_.front());
  frames_.pop_front();
  return frame;
}

}  // namespace hearsay::gossip
