// SPDX-License-Identifier: Apache-2.0
// Which examples a peer has, as it wrote down every change before anybody could depend on it: one
// line a change, read again by the next start of the same peer.
//   offer p05 77 12 3456          examples 12 and 3456 are set aside for p05, under number 77
//   took p05 78 3 9:1 44:0        of p05's offer 78 both came: example 9 with label 1, 44 with 0
//   closed p05 77 2               p05 took the second of offer 77; the first is the own again
// Invariant: applying the lines of a peer to its shard gives what it owned when it died. A last
// line without its end was not written down. Pure. Cost: O(lines).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/archive.hpp"

namespace hearsay::gossip {

using kernels::PeerId;

class Holdings {
 public:
  struct Offer {
    std::uint64_t seq = 0;
    std::vector<std::uint32_t> ids;
    std::chrono::nanoseconds asked{0};  // when it was sent, or last asked about
    void state(Archive& a) { a("seq", seq)("ids", ids)("asked", asked); }
  };
  struct Taken {
    std::uint64_t seq = 0, taken = 0;  // bits, as in a receipt
    void state(Archive& a) { a("seq", seq)("taken", taken); }
  };

  // What the split has given the peer: (id, label), each once.
  Holdings(std::span<const std::uint32_t> ids, std::span<const std::uint8_t> labels);

  // False when the line says nothing that can have happened after those before; nothing changes.
  bool apply(std::string_view line, std::uint32_t peers);

  // Everything that the peer has, what is set aside included, in order of ids.
  const std::map<std::uint32_t, std::uint8_t>& labels() const noexcept { return labels_; }
  const std::map<PeerId, Offer>& open() const noexcept { return open_; }
  const std::map<PeerId, Taken>& taken() const noexcept { return taken_; }
  std::uint64_t last_offer() const noexcept { return last_offer_; }  // the largest number; 0: none

  static std::string offer_line(PeerId to, const Offer& offer);
  static std::string took_line(PeerId from, const Taken& taken,
                               std::span<const std::pair<std::uint32_t, std::uint8_t>> examples);
  static std::string closed_line(PeerId to, std::uint64_t seq, std::uint64_t taken);

 private:
  struct Words;
  bool apply_offer(PeerId peer, std::uint64_t seq, Words& words);
  bool apply_took(PeerId peer, std::uint64_t seq, Words& words);
  bool apply_closed(PeerId peer, std::uint64_t seq, Words& words);

  std::map<std::uint32_t, std::uint8_t> labels_;
  std::map<PeerId, Offer> open_;
  std::map<PeerId, Taken> taken_;
  std::uint64_t last_offer_ = 0;
};

// What the lines make of a shard. Stops at the first that is no line of this peer, as what follows
// it cannot be known; `bad`, where given, hears of it.
Holdings read_holdings(std::span<const std::uint32_t> ids, std::span<const std::uint8_t> labels,
                       std::span<const std::string> lines, std::uint32_t peers,
                       std::optional<std::size_t>* bad = nullptr);

}  // namespace hearsay::gossip
