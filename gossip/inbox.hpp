// SPDX-License-Identifier: Apache-2.0
// Frames with weights that wait for the next mini-batch boundary: bounded, in order of arrival. In
// mode `newest` a frame replaces an older one of the same sender (its news is older); in mode
// `every` nothing is replaced.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "gossip/frame.hpp"

namespace hearsay::gossip {

class Inbox {
 public:
  enum class Keep { newest, every };
  explicit Inbox(Keep keep) : keep_(keep) {}

  // The frame that had to give way: an older one of the same sender, or `frame` itself when the box
  // is full. Answers and returned mass are always taken: there are at most as many as this peer has
  // sent.
  std::optional<Frame> add(Frame frame);
  std::optional<Frame> take();
  void state(Archive& a) {
    a("frames", frames_);
    for (const Frame& frame : frames_) {
      if (!frame.carries_weights()) a.fail("frames", "one has no weights");
    }
  }
  void for_each(const std::function<void(const Frame&)>& visit) const {
    for (const Frame& frame : frames_) visit(frame);
  }

 private:
  Keep keep_;
  std::deque<Frame> frames_;
};

}  // namespace hearsay::gossip
