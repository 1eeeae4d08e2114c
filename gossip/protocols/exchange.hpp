// SPDX-License-Identifier: Apache-2.0
// One way of exchanging weights with a partner. GossipPeer decides when and with whom; an exchange
// decides what is sent, what is answered, and by how much each side moves. Called only between two
// mini-batches.
//
//             messages   bytes on the wire   who moves    pool's mean
//   push          1             4 N          receiver     kept in expectation only
//   pairwise      2             8 N          both         kept exactly (up to rounding)
//   push-sum      1             4 N + 8      receiver     mass-weighted mean kept exactly
//   choco     1 a neighbour   the codec's    all of them  kept exactly (up to rounding)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gossip/inbox.hpp"
#include "gossip/peer_state.hpp"

namespace hearsay::gossip {

class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual Inbox::Keep keep() const = 0;
  // Before anything else, when the peer begins: not from a checkpoint.
  virtual void begin(PeerState&, Turn&) {}
  // This peer has taken another's weights in place of its own.
  virtual void adopted(PeerState&, Turn&) {}
  // Whether start() speaks to all neighbours, whoever `partner` is.
  virtual bool reaches_all() const { return false; }
  // Sends to `partner`; not while waiting(). False when nothing was sent.
  virtual bool start(PeerId partner, PeerState& peer, Turn& turn) = 0;
  // A frame that concerns weights (push, ack, request, reply, busy, returned).
  virtual void receive(Frame frame, PeerState& peer, Turn& turn) = 0;
  // A frame that found no room in the inbox, or was replaced there by a newer one.
  virtual void refuse(Frame frame, PeerState& peer, Turn& turn) = 0;
  // A timer of this exchange fired. Unknown ids belong to exchanges that ended meanwhile.
  virtual void timeout(std::uint64_t seq, PeerState& peer, Turn& turn) = 0;
  // `who` is gone: nothing more will come from there.
  virtual void partner_down(PeerId who, PeerState& peer, Turn& turn) = 0;

  // Ends what is unanswered: this peer goes on from a checkpoint.
  virtual void give_up(const char* reason, Turn& turn) = 0;
  virtual void state(Archive& archive) = 0;
  virtual bool waiting() const = 0;  // for the answer to the exchange started last
  // A merge is due: an answer that should have been here by now is not waited for any more.
  virtual void hurry(PeerState&, Turn&) {}
  // Partners whose answers are overdue: not to be asked again meanwhile.
  virtual std::vector<PeerId> overdue() const { return {}; }
  // Exchanges that were started and have come to nothing so far; fewer when one is answered late.
  virtual std::int64_t missing() const { return 0; }
};

std::unique_ptr<Exchange> make_pairwise();
std::unique_ptr<Exchange> make_push(bool wait);
std::unique_ptr<Exchange> make_push_sum(bool wait);
std::unique_ptr<Exchange> make_choco(const GossipSettings& settings);

}  // namespace hearsay::gossip
