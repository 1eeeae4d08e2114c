// SPDX-License-Identifier: Apache-2.0
// Weights that go from one process of a host to another without passing through a socket: the
// sender keeps them where they are and sends a ticket in their place, the receiver makes its own
// copy from there, and says so. What a place is, and whether the other side can read it, is the
// business of whoever implements this (runtime/device/device_handover.hpp); the io lane knows
// tickets as bytes. Invariants: a sender lends a snapshot until it hears that it was taken, or
// until the connection ends; a receiver hands on only what it has copied whole, and finds out when
// a lender that gave it up has written over it. Nothing here waits for another process. Io lane.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "gossip/wire/header.hpp"
#include "merge/snapshot.hpp"

namespace hearsay::runtime {

// Snapshots lent on one connection that the other side has not yet taken; what comes on top goes as
// bytes.
inline constexpr std::size_t kLentFrames = 4;

using HandoverTicket = std::array<std::byte, gossip::wire::kTicketBytes>;

// What can be taken from one process. Closes its way there when it goes, also after the other
// process has died.
class HandoverSource {
 public:
  virtual ~HandoverSource() = default;
  // An own copy of what the ticket stands for; null with the reason in `why`: it is not there any
  // more, or is no model of this pool. Takes the time of the copy.
  virtual merge::SnapshotRef take(const HandoverTicket& ticket, std::string& why) = 0;
};

class Handover {
 public:
  virtual ~Handover() = default;
  // What others need in order to take from this process, for its hello: at most kHandoverLetters.
  virtual const std::string& offer() const = 0;
  // Tries to take from whoever has said `offer`. Null: on another host, or out of reach; then
  // weights come as bytes, which is no fault.
  virtual std::unique_ptr<HandoverSource> open(const std::string& offer) = 0;
  // For weights that can be taken, once they are whole; none: they are to be sent as bytes.
  virtual std::optional<HandoverTicket> ticket(const merge::Snapshot& weights) = 0;
};

}  // namespace hearsay::runtime
