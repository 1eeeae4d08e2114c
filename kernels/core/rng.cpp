// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/rng.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/core/philox.hpp"

namespace hearsay::kernels {
namespace {

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

std::uint64_t mix(
    std::uint64_t x) {  // splitmix64 finaliser: spreads small seeds and peer numbers over all bits
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

std::array<std::uint32_t, 2> halves(std::uint64_t x) {
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32)};
}

// Transformed rejection with squeeze (PTRS), valid for mean >= 10.
std::uint32_t poisson_ptrs(Rng& rng, double mean) {
  const double b = 0.931 + 2.53 * std::sqrt(mean);
  const double a = -0.059 + 0.02483 * b;
  const double inv_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2.0);
  for (;;) {
    const double u = rng.uniform() - 0.5;
    const double v = rng.uniform();
    const double us = 0.5 - std::fabs(u);
    const double k = std::floor((2.0 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= v_r) return static_cast<std::uint32_t>(k);
    if (k < 0.0 || (us < 0.013 && v > us)) continue;
    const double accept = std::log(v) + std::log(inv_alpha) - std::log(a / (us * us) + b);
    if (accept <= k * std::log(mean) - mean - std::lgamma(k + 1.0))
      return static_cast<std::uint32_t>(k);
  }
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> c,
                                        std::array<std::uint32_t, 2> k) {
  const PhiloxBlock block = philox_block({{c[0], c[1], c[2], c[3]}}, k[0], k[1]);
  return {block.word[0], block.word[1], block.word[2], block.word[3]};
}

Rng Rng::stream(std::uint64_t seed, std::string_view purpose, std::uint32_t peer) {
  return Rng(halves(mix(seed)), halves(mix(fnv1a(purpose) + mix(peer))));
}

void Rng::seek(std::uint64_t position) noexcept { position_ = position; }

void Rng::refill() {
  const std::uint64_t index = position_ / 4;
  if (index == block_index_) return;
  const auto low = halves(index);
  block_ = philox4x32({low[0], low[1], lane_[0], lane_[1]}, key_);
  block_index_ = index;
}

std::uint32_t Rng::next_u32() {
  refill();
  return block_[position_++ % 4];
}

std::uint64_t Rng::next_u64() {
  const std::uint64_t low = next_u32();
  return low | (std::uint64_t{next_u32()} << 32);
}

double Rng::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

std::uint32_t Rng::below(std::uint32_t bound) {
  HS_CHECK(bound >= 1);
  // Lemire's multiply-shift with rejection: unbiased for every bound.
  const std::uint32_t threshold = (0u - bound) % bound;
  for (;;) {
    const std::uint64_t product = std::uint64_t{next_u32()} * bound;
    if (static_cast<std::uint32_t>(product) >= threshold)
      return static_cast<std::uint32_t>(product >> 32);
  }
}

double Rng::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

double Rng::exponential() { return -std::log(1.0 - uniform()); }

double Rng::gamma(double shape) {
  HS_CHECK(shape > 0.0);
  if (shape < 1.0) return gamma(shape + 1.0) * std::pow(1.0 - uniform(), 1.0 / shape);
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = normal();
    const double v = std::pow(1.0 + c * x, 3.0);
    if (v <= 0.0) continue;
    if (std::log(1.0 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

std::uint32_t Rng::poisson(double mean) {
  HS_CHECK(mean >= 0.0 && mean < 1e9);
  if (mean >= 30.0) return poisson_ptrs(*this, mean);
  const double limit = std::exp(-mean);
  std::uint32_t k = 0;
  for (double product = uniform(); product > limit; product *= uniform()) ++k;
  return k;
}

void Rng::shuffle(std::span<std::uint32_t> items) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
  }
}

}  // namespace hearsay::kernels
