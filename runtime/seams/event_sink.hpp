// SPDX-License-Identifier: Apache-2.0
// Where events go: a run directory's log, or nowhere.
#pragma once

#include <string_view>

#include "gossip/protocol.hpp"

namespace hearsay::runtime {

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void write(gossip::Time t, std::string_view peer, const gossip::Event& event) = 0;
};

class NullSink final : public EventSink {
 public:
  void write(gossip::Time, std::string_view, const gossip::Event&) override {}
};

}  // namespace hearsay::runtime
