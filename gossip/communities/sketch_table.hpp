// SPDX-License-Identifier: Apache-2.0
// The newest sketch of every peer heard of, the own one included, and what a frame passes on: the
// own sketch, if this partner has not been sent it, and of the others those that were passed on
// longest ago, but none that the partner made or told. In pools of up to 16 that is all of them,
// and news doubles with every frame; in larger ones it takes n / 15 times as long. Whoever passes a
// sketch on can forge it: like models, sketches of peers that lie are believed. Lane: compute,
// pure. Memory: 2 B a value and peer, shared with frames. Cost: O(peers) a frame.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gossip/sketch.hpp"

namespace hearsay::gossip {

class SketchTable {
 public:
  SketchTable(kernels::PeerId self, std::uint32_t peers, std::uint32_t values);

  // The next own sketch. `values` finite; rounded to bf16.
  void set_own(std::span<const float> values, std::uint32_t incarnation);
  // Keeps what is newer than what is known; ignores what is malformed, of no peer of this pool, or
  // claims to be the own. `clock`: own merges so far, from which ages count. Returns how many are
  // kept.
  std::uint32_t learn(std::span<const Sketch> sketches, kernels::PeerId from, std::uint64_t clock);
  // At most `limit`; counts them as passed on.
  std::vector<Sketch> for_partner(kernels::PeerId partner, std::size_t limit);

  std::uint32_t known() const;  // peers, the own one included
  bool knows(std::uint32_t peer) const { return entries_[peer].sketch.version > 0; }
  const Sketch& of(std::uint32_t peer) const { return entries_[peer].sketch; }
  // Own merges since the newest sketch of a peer that is known came.
  std::uint64_t age(std::uint32_t peer, std::uint64_t clock) const {
    return clock > entries_[peer].came ? clock - entries_[peer].came : 0;
  }
  // Of the oldest one that is known.
  std::uint64_t oldest(std::uint64_t clock) const;
  // [peer] its values; none of a peer that is not known.
  std::vector<std::vector<float>> rows() const;

  void state(Archive& archive);

 private:
  struct Entry {
    Sketch sketch;                // version 0: none
    kernels::PeerId from;         // who told
    std::uint64_t came = 0;       // clock when it did
    std::uint64_t passed_on = 0;  // serial number of the passing
    std::uint64_t told_own = 0;   // version of the own sketch that this peer was sent
    void state(Archive& a) {
      a("sketch", sketch)("from", from)("came", came)("passed_on", passed_on);
      a("told_own", told_own);
    }
  };
  bool is_sound(const Sketch& sketch) const;

  kernels::PeerId self_;
  std::uint32_t values_;
  std::vector<Entry> entries_;  // [peer]
  std::uint64_t passings_ = 0;
};

}  // namespace hearsay::gossip
