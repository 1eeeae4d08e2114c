// SPDX-License-Identifier: Apache-2.0
// A set of peers in 16 bytes, as it stands beside an example: one bit a peer in pools of up to 128,
// above that a Bloom filter of 128 bits with four hashes (Bloom 1970), which may take a stranger
// for a member (2.4 % with 16 members) and from which nothing can be taken out. Value; cost: O(1).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "gossip/archive.hpp"
#include "kernels/core/strong_id.hpp"

namespace hearsay::runtime {

class PeerSet {
 public:
  static constexpr std::uint32_t kExactPeers = 128;

  bool has(kernels::PeerId peer, std::uint32_t peers) const {
    const Bits bits = bits_of(peer, peers);
    return (words_[0] & bits[0]) == bits[0] && (words_[1] & bits[1]) == bits[1];
  }
  void add(kernels::PeerId peer, std::uint32_t peers) {
    const Bits bits = bits_of(peer, peers);
    words_[0] |= bits[0];
    words_[1] |= bits[1];
  }
  // From a filter nobody can be taken out alone: it is emptied, which forgets rather than invents.
  void remove(kernels::PeerId peer, std::uint32_t peers) {
    if (!has(peer, peers)) return;
    if (peers > kExactPeers) return clear();
    const Bits bits = bits_of(peer, peers);
    words_[0] &= ~bits[0];
    words_[1] &= ~bits[1];
  }
  void clear() { words_ = {}; }
  bool empty() const { return (words_[0] | words_[1]) == 0; }
  // Members; of a filter, a quarter of its bits, rounded up: at most as many.
  std::uint32_t count(std::uint32_t peers) const {
    const auto bits =
        static_cast<std::uint32_t>(std::popcount(words_[0]) + std::popcount(words_[1]));
    return peers > kExactPeers ? (bits + 3) / 4 : bits;
  }
  const std::array<std::uint64_t, 2>& words() const noexcept { return words_; }
  static PeerSet of(const std::array<std::uint64_t, 2>& words) {
    PeerSet set;
    set.words_ = words;
    return set;
  }
  friend bool operator==(const PeerSet&, const PeerSet&) = default;

 private:
  using Bits = std::array<std::uint64_t, 2>;

  static Bits bits_of(kernels::PeerId peer, std::uint32_t peers) {
    Bits bits{};
    if (peers <= kExactPeers) {
      bits[peer.value / 64] = std::uint64_t{1} << (peer.value % 64);
      return bits;
    }
    std::uint64_t hash = peer.value + 1;  // splitmix64 (Steele et al. 2014): four times seven bits
    hash *= 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    hash ^= hash >> 31;
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t bit = (hash >> (16 * i)) % 128;
      bits[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
    return bits;
  }

  std::array<std::uint64_t, 2> words_{};
};

}  // namespace hearsay::runtime
