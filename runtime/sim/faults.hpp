// SPDX-License-Identifier: Apache-2.0
// Faults injected into a simulated pool (--chaos), exact by seed:
//   slow=p03*4             four times the time per mini-batch, from the start
//   kill=p03@30%  kill=2@5s   one named peer, or that many drawn from the seed
//   kill=p03@30%..50%      begins again at the second time, with the weights of another peer
//   stall=p02@10%..20%     frozen: neither trains nor answers; what arrives waits
//   partition=p03@20%[..60%]  everything from and to the peer is lost
//   drop=1%                that share of all frames is lost
//   corrupt=1%             that share of all frames arrives with a wrong byte, and is refused whole
//   reorder=1%             that share of all frames is late by up to kHeldBack: others overtake it
//   duplicate=1%           that share of all frames comes a second time, up to kHeldBack later
//   scale=p03*1e6@10%      the peer sends something else than its weights (tamper.hpp); counted as
//                          kills are: noise=2@0%. From the start without a time, for ever without
//                          an end
//   label-flip=p03@10%     the peer learns class c as classes - 1 - c
//   poison=p03@30%         one of the peer's own weights becomes NaN, once
// A time is a share of the epoch budget (mean progress of the live peers) or seconds since the
// first mini-batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gossip/protocol.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/net/network_faults.hpp"
#include "runtime/sim/tamper.hpp"

namespace hearsay::runtime {

struct FaultTime {
  bool is_share = false;
  double value = 0.0;  // share 0 .. 1, or seconds
};

struct Fault {
  enum class Kind {
    slow,
    kill,
    stall,
    partition,
    drop,
    corrupt,
    reorder,
    duplicate,
    attack,
    label_flip,
    poison
  };
  Kind kind = Kind::slow;
  std::string text;                    // as typed
  std::vector<kernels::PeerId> peers;  // empty for those of links
  double factor = 1.0;                 // slow; attack: its strength
  double share = 0.0;                  // of all frames
  Attack attack = Attack::nan;
  std::optional<FaultTime> from, to;
};

// Throws UsageError naming the fault. Counted kills draw their peers from Rng::stream(seed,
// "chaos").
std::vector<Fault> parse_faults(const std::vector<std::string>& chaos, std::uint32_t peers,
                                std::uint64_t seed);

class FaultSchedule {
 public:
  FaultSchedule(std::vector<Fault> faults, std::uint32_t peers, std::uint64_t seed);

  // Moves to (progress, now); returns what began or ended, in the order typed.
  struct Change {
    const Fault* fault;
    bool begins;
  };
  std::vector<Change> advance(double progress, gossip::Time now);
  std::vector<gossip::Time> wake_up_times()
      const;  // faults given in seconds need a look at these instants

  bool stalled(kernels::PeerId peer) const { return stalled_[peer.value] > 0; }
  bool parted(kernels::PeerId a, kernels::PeerId b) const {
    return cut_[a.value] > 0 || cut_[b.value] > 0;
  }
  NetworkFaults network() const;  // as it is now, for peers that carry it out themselves
  bool loses(kernels::PeerId from, kernels::PeerId to);  // draws for `drop`
  bool corrupts();                                       // draws for `corrupt`
  static constexpr std::chrono::milliseconds kHeldBack{100};
  gossip::Time held_back();                   // draws for `reorder`: how much later a frame comes
  std::optional<gossip::Time> comes_again();  // draws for `duplicate`: that much later
  std::vector<std::string> never_fired() const;
  // Nothing is frozen or cut off, and no fault will begin or end any more. Frames may get lost.
  bool is_calm() const;
  void state(gossip::Archive& archive);

 private:
  enum class State : std::uint8_t { waiting, active, over };
  bool reached(const FaultTime& t, double progress, gossip::Time now) const;
  void mark(const Fault& fault, int by);

  std::vector<Fault> faults_;
  std::vector<State> states_;
  std::vector<int> stalled_, cut_;  // [peer] nested counts
  double drop_share_ = 0.0, corrupt_share_ = 0.0, reorder_share_ = 0.0, duplicate_share_ = 0.0;
  std::size_t open_ = 0;  // faults that may still change
  kernels::Rng rng_;
};

}  // namespace hearsay::runtime
