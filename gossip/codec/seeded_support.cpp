// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/seeded_support.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernels/core/check.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::gossip {
namespace {

using kernels::Rng;

// The seed that a peer puts into its message (or round) `number`.
std::uint64_t seed_of(std::uint64_t seed, kernels::PeerId self, std::uint64_t number) {
  Rng rng = Rng::stream(seed, "codec-seeds", self.value);
  rng.seek(2 * number);
  return rng.next_u64();
}

// Calls each(i) for the set bits in ascending order.
template <typename Each>
void for_bits(const std::vector<std::uint64_t>& bits, const Each& each) {
  for (std::size_t w = 0; w < bits.size(); ++w) {
    for (std::uint64_t left = bits[w]; left != 0; left &= left - 1)
      each(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
  }
}

}  // namespace

RandomSupport::RandomSupport(double share, const Places& places, std::uint64_t seed,
                             kernels::PeerId self)
    : weights_(places.large_count()),
      count_(share_of(share, places.large_count())),
      seed_(seed),
      self_(self) {}

void RandomSupport::choose(std::span<const float>, std::span<float>, PackedBytes& where,
                           std::vector<std::uint32_t>& at) {
  put_number(where, seed_of(seed_, self_, chosen_++));
  PackedReader own(PackedView(where).last(8));
  HS_CHECK(read(own, at).empty());
}

std::string RandomSupport::read(PackedReader& in, std::vector<std::uint32_t>& at) const {
  at.clear();
  const auto seed = in.get<std::uint64_t>();
  if (!seed) return "message is cut off in its seed";
  Rng rng = Rng::stream(*seed, "codec-random");
  std::vector<std::uint64_t> bits((weights_ + 63) / 64);
  for (std::size_t bound = weights_ - count_ + 1; bound <= weights_; ++bound) {
    if (count_ == 0) break;
    const std::size_t drawn = rng.below(static_cast<std::uint32_t>(bound));
    const bool is_taken = bits[drawn / 64] >> (drawn % 64) & 1u;
    const std::size_t number = is_taken ? bound - 1 : drawn;
    bits[number / 64] |= std::uint64_t{1} << (number % 64);
  }
  at.reserve(count_);
  for_bits(bits, [&](std::size_t number) { at.push_back(static_cast<std::uint32_t>(number)); });
  return {};
}

BlockSupport::BlockSupport(double share, std::size_t size, const Places& places, std::uint64_t seed,
                           kernels::PeerId self)
    : weights_(places.large_count()),
      size_(size),
      blocks_((places.large_count() + size - 1) / size),
      seed_(seed),
      self_(self) {
  const std::size_t each = std::max<std::size_t>(1, share_of(share, blocks_));
  parts_ = std::max<std::size_t>(1, (blocks_ + each - 1) / each);
}

std::size_t BlockSupport::most_entries() const {
  return std::min(weights_, (blocks_ + parts_ - 1) / parts_ * size_);
}

void BlockSupport::choose(std::span<const float>, std::span<float>, PackedBytes& where,
                          std::vector<std::uint32_t>& at) {
  put_number(where, seed_of(seed_, self_, chosen_ / parts_));
  put_number(where, static_cast<std::uint32_t>(chosen_++ % parts_));
  PackedReader own(PackedView(where).last(12));
  HS_CHECK(read(own, at).empty());
}

std::string BlockSupport::read(PackedReader& in, std::vector<std::uint32_t>& at) const {
  at.clear();
  const auto order = in.get<std::uint64_t>();
  const auto part = in.get<std::uint32_t>();
  if (!order || !part) return "message is cut off in its seed";
  if (*part >= parts_) {
    return "message is part " + std::to_string(*part) + " of a round of " + std::to_string(parts_);
  }
  blocks_of(*order, *part, at);
  return {};
}

void BlockSupport::blocks_of(std::uint64_t order, std::size_t part,
                             std::vector<std::uint32_t>& at) const {
  std::vector<std::uint32_t> all(blocks_);
  std::iota(all.begin(), all.end(), 0u);
  Rng rng = Rng::stream(order, "codec-blocks");
  rng.shuffle(all);
  std::vector<std::uint64_t> bits((blocks_ + 63) / 64);
  for (std::size_t j = part * blocks_ / parts_; j < (part + 1) * blocks_ / parts_; ++j)
    bits[all[j] / 64] |= std::uint64_t{1} << (all[j] % 64);
  at.reserve(most_entries());
  for_bits(bits, [&](std::size_t block) {
    const std::size_t end = std::min(weights_, (block + 1) * size_);
    for (std::size_t i = block * size_; i < end; ++i) at.push_back(static_cast<std::uint32_t>(i));
  });
}

}  // namespace hearsay::gossip
