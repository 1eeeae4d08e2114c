// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/bf16_copy.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/core/check.hpp"
#include "kernels/core/digest.hpp"
#include "kernels/core/half.hpp"

namespace hearsay::gossip {
namespace {

using kernels::Bf16;

std::uint16_t bits_of(float x) {
  constexpr float kMost = __builtin_bit_cast(float, Bf16::kMaxBits);
  return kernels::nearest(std::clamp(x, -kMost, kMost), Bf16{}).bits;
}

}  // namespace

void Bf16Copy::state(Archive& archive) {
  merge::PackedRef packed;
  if (!archive.loading() && bits) {
    auto bytes = std::make_shared<merge::Packed>();
    bytes->bytes.resize(2 * bits->size());
    std::memcpy(bytes->bytes.data(), bits->data(), bytes->bytes.size());
    packed = std::move(bytes);
  }
  archive("version", version)("bits", packed);
  if (!archive.loading()) return;
  bits = nullptr;
  if ((version == 0) != (packed == nullptr)) archive.fail("version", "has no bits");
  if (!packed) return;
  if (packed->bytes.size() % 2 != 0) archive.fail("bits", "end in the middle of a weight");
  auto held = std::make_shared<Bf16Bits>(packed->bytes.size() / 2);
  if (!held->empty()) std::memcpy(held->data(), packed->bytes.data(), packed->bytes.size());
  bits = std::move(held);
}

Bf16BitsRef bf16_bits(std::span<const float> weights, std::span<const float> start) {
  HS_CHECK(weights.size() == start.size());
  auto bits = std::make_shared<Bf16Bits>(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    (*bits)[i] = bits_of(std::isfinite(weights[i]) ? weights[i] : start[i]);
  return bits;
}

void widen_bits(std::span<const std::uint16_t> bits, std::span<float> values) {
  HS_CHECK(bits.size() == values.size());
  for (std::size_t i = 0; i < bits.size(); ++i) values[i] = kernels::widen(Bf16{bits[i]});
}

std::uint64_t digest_of(std::span<const std::uint16_t> bits) {
  return kernels::digest64({reinterpret_cast<const std::uint8_t*>(bits.data()), 2 * bits.size()});
}

std::vector<std::uint32_t> changed_places(std::span<const std::uint16_t> before,
                                          std::span<const std::uint16_t> after) {
  HS_CHECK(before.size() == after.size());
  std::vector<std::uint32_t> at;
  for (std::size_t i = 0; i < after.size(); ++i)
    if (before[i] != after[i]) at.push_back(static_cast<std::uint32_t>(i));
  return at;
}

}  // namespace hearsay::gossip
