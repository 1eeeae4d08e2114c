// SPDX-License-Identifier: Apache-2.0
// The exchange that was started and not yet answered, and what every exchange kind does about it: a
// deadline that learns (deadlines.hpp), a line when it ends half done, and suspicion of the
// partner. One at a time: an answer moves this peer by a displacement from the weights it sent, and
// displacements from one and the same past add up to more than the way to the partners. On a
// network that is too slow for the merges asked for, fewer are started; the pool stays stable.
// Where messages are lost, a deadline of a second may be many merges: once nothing has moved
// between the two for longer than answers take, the next merge goes first. The answer is still
// welcome when it comes late, of kLate such exchanges: the oldest is given up for a newer one, not
// before kLateLeast, as answers come that late on busy machines. An answer to one that was given up
// for a newer one still says how long answers take, unless it is later than an exchange may be.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "gossip/protocols/deadlines.hpp"
#include "gossip/protocols/exchange.hpp"

namespace hearsay::gossip {

class PendingExchange : public Exchange {
 public:
  void timeout(std::uint64_t seq, PeerState& peer, Turn& turn) final;
  void partner_down(PeerId who, PeerState& peer, Turn& turn) final;
  void give_up(const char* reason, Turn& turn) final;
  bool waiting() const final { return entry_.has_value(); }
  void hurry(PeerState& peer, Turn& turn) final;
  std::vector<PeerId> overdue() const final;
  std::int64_t missing() const final { return missing_; }
  void state(Archive& a) override {
    a("entry", entry_)("late", late_)("forgotten", forgotten_)("missing", missing_);
    a("deadlines", deadlines_)("adapted", adapted_);
    if (late_.size() > kLate) a.fail("late", "more than there may be");
    if (forgotten_.size() > kForgotten) a.fail("forgotten", "more than there may be");
  }

 protected:
  static constexpr std::size_t kLate = 3;  // each keeps the weights that were sent
  static constexpr std::size_t kForgotten = 16;
  static constexpr auto kLateLeast = std::chrono::milliseconds(100);

  struct Entry {
    std::uint64_t seq = 0;  // of the frame that asked
    PeerId partner;
    // What the partner's answer refers to (Spoken::base); null when it needs none.
    merge::SnapshotRef sent;
    Time started{0};
    bool is_overdue = false;    // nothing moves, for longer than answers take
    std::uint32_t crossed = 0;  // other answers that have come since it was sent
    void state(Archive& a) {
      a("seq", seq)("partner", partner)("sent", sent)("started", started)("overdue", is_overdue);
      a("crossed", crossed);
    }
  };
  struct Forgotten {
    std::uint64_t seq = 0;
    PeerId partner;
    Time started{0};
    bool answered = false;
    void state(Archive& a) {
      a("seq", seq)("partner", partner)("started", started)("answered", answered);
    }
  };
  void await(Entry entry, const PeerState& peer, Turn& turn);  // not while waiting()
  // A snapshot of the own weights on its way to `partner`; with `wait` its acknowledgement is
  // awaited. `mass` is 0 but for push-sum.
  void push(PeerId partner, double mass, bool wait, PeerState& peer, Turn& turn);
  // Whether `frame` answers an exchange that gave way to newer ones: no fault of anybody's, and a
  // lesson for the deadlines of the next.
  bool answers_forgotten(const Frame& frame, PeerState& peer, Turn& turn);
  // Ends and returns the exchange that `frame` answers; nothing when it is not the one awaited.
  std::optional<Entry> answer(const Frame& frame, PeerState& peer, Time now);
  // To the codec: how long an exchange of what it says now has taken, answered or given up.
  void note_time(Time started, PeerState& peer, Turn& turn);

 private:
  // This of the late exchanges ends without an answer, for that reason.
  void forget_late(std::size_t which, const char* reason, PeerState& peer, Turn& turn);
  std::optional<std::size_t> late_with(std::uint64_t seq) const;
  void note_missing(const Entry& entry) { missing_ += entry.is_overdue ? 0 : 1; }

  std::optional<Entry> entry_;       // waited for
  std::vector<Entry> late_;          // overdue when a newer one began, oldest first
  std::deque<Forgotten> forgotten_;  // the newest kForgotten that gave way
  std::int64_t missing_ = 0;
  Deadlines deadlines_;
  Time adapted_{0};  // when the codec last changed; what was asked before says nothing of it
};

}  // namespace hearsay::gossip
