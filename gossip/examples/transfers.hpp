// SPDX-License-Identifier: Apache-2.0
// Examples that change hands, so that none is lost or owned twice whatever happens to messages and
// peers. After a merge the receiver of weights may offer examples to their sender:
//
//   giver   sets them aside ── examples s ──▶ taker   takes them: owner from here on
//           deletes, or takes back ◀── receipt s, which
//           nothing heard:  ── offered s? ──▶         has it come? if not, it never will: receipt
//                                                     s, none
//
// One offer at a time goes from a peer to another, numbered by the giver's count of payloads and
// above all that it has written down, so a taker keeps one number a giver and answers any
// repetition alike. What both have to remember is
// written down (action::Persist) before a message depends on it; a peer that died knows again what
// it owned. An offer to a peer that stays away stays set aside: whether it was taken nobody else
// can know (two-phase commit blocks there: Skeen 1981). Invariant over a pool at any instant: every
// example has one owner, or none and one peer that has set it aside.
//   steps: 2 messages a transfer, 2 more where one was lost.  bytes: 64 + records; 64 a receipt.
// Copies need none of this. Lane: compute, pure. Memory: 4 B an example that is offered.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gossip/examples/example_store.hpp"
#include "gossip/examples/holdings.hpp"

namespace hearsay::gossip {

struct PeerState;
struct Turn;
struct Frame;

// --share hard of a pool.
struct TransferPlan {
  std::uint32_t most = 64;  // examples an offer
  bool copies = false;
  std::string policy;  // as the log names it
  bool logs_ids = false;
};
inline constexpr std::uint32_t kMostOffered = 64;  // a receipt has one bit each

class Transfers {
 public:
  explicit Transfers(std::shared_ptr<const TransferPlan> plan) : plan_(std::move(plan)) {}
  void restore(const Holdings& held);

  // A merge with weights of `partner` has been applied.
  void offer(PeerId partner, PeerState& peer, Turn& turn);
  // Frames of kind examples, receipt and offered; the first between two mini-batches only.
  void receive(const Frame& frame, PeerState& peer, Turn& turn);
  // Every beat: asks about offers that nobody has answered.
  void ask_again(PeerState& peer, Turn& turn);
  bool all_settled() const { return open_.empty(); }
  std::size_t open() const { return open_.size(); }

  void state(Archive& archive);

 private:
  void answer(const Frame& offer, PeerState& peer, Turn& turn);
  void settle(const Frame& receipt, Turn& turn);
  void send_receipt(PeerId giver, PeerState& peer, Turn& turn);

  std::shared_ptr<const TransferPlan> plan_;
  std::map<PeerId, Holdings::Offer> open_;   // by taker
  std::map<PeerId, Holdings::Taken> taken_;  // newest, by giver
  std::uint64_t last_offer_ = 0;             // largest number of an own one that was written down
};

}  // namespace hearsay::gossip
