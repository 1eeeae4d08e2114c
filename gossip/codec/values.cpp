// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/values.hpp"

#include <algorithm>
#include <cmath>

#include "gossip/codec/lloyd.hpp"
#include "kernels/core/check.hpp"
#include "kernels/core/half.hpp"
#include "kernels/core/philox.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/ops/quantise_ops.hpp"

namespace hearsay::gossip {
namespace {

using kernels::Bf16;

LloydCode lloyd_of(const ValueCode& code) {
  return {static_cast<unsigned>(code.bits()), code.block};
}

kernels::QuantiseSpec spec_of(const ValueCode& code, ValueDraw draw) {
  return {.bits = code.kind == ValueKind::int8 ? 8u : 4u,
          .block = code.block,
          .bf16_scales = true,
          .stochastic = code.is_stochastic,
          .seed = draw.key,
          .stream = draw.stream};
}

std::size_t scale_part(const ValueCode& code, std::size_t n) {
  if (code.is_lloyd()) return lloyd_scale_bytes(lloyd_of(code), n);
  return code.has_scales() ? kernels::scale_bytes(spec_of(code, {}), n) : 0;
}

std::size_t value_part(const ValueCode& code, std::size_t n) {
  if (code.kind == ValueKind::fp32) return 4 * n;
  if (code.kind == ValueKind::bf16) return 2 * n;
  if (code.is_lloyd()) return lloyd_bytes(lloyd_of(code), n);
  return kernels::quantised_bytes(spec_of(code, {}), n);
}

// 16 random bits for each of eight values in a row.
kernels::PhiloxBlock words_of(std::uint64_t octet, ValueDraw draw) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  return kernels::philox_block(
      {{low(octet), low(octet >> 32), low(draw.stream), low(draw.stream >> 32)}}, low(draw.key),
      low(draw.key >> 32));
}

// Within what bf16 holds, so that no finite value becomes infinite; what is not finite is 0.
float bounded(float x) {
  constexpr float kMost = __builtin_bit_cast(float, Bf16::kMaxBits);
  return std::isfinite(x) ? std::clamp(x, -kMost, kMost) : 0.0f;
}

HS_CLONES void bf16_of(std::size_t n, const float* __restrict x, std::uint16_t* __restrict to) {
  for (std::size_t i = 0; i < n; ++i) to[i] = kernels::nearest(bounded(x[i]), Bf16{}).bits;
}

HS_CLONES void values_of_bf16(std::size_t n, const std::uint16_t* __restrict from,
                              float* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = kernels::widen(Bf16{from[i]});
}

HS_CLONES void subtract(std::size_t n, const float* w, const float* __restrict start, float* x) {
  for (std::size_t i = 0; i < n; ++i) x[i] = w[i] - start[i];
}

HS_CLONES void add(std::size_t n, const float* __restrict start, float* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = start[i] + y[i];
}

}  // namespace

double ValueCode::bits() const {
  switch (kind) {
    case ValueKind::fp32: return 32.0;
    case ValueKind::bf16: return 16.0;
    case ValueKind::int8: return 8.0;
    case ValueKind::int4: return 4.0;
    case ValueKind::lloyd3: return 3.0;
    case ValueKind::lloyd2: return 2.0;
    case ValueKind::sign: break;
  }
  return 1.0;
}

std::size_t value_bytes(const ValueCode& code, std::size_t n) {
  return scale_part(code, n) + value_part(code, n);
}

ValueWriter::ValueWriter(const ValueCode& code, ValueDraw draw, std::uint64_t first, std::size_t n,
                         PackedBytes& bytes)
    : code_(code), draw_(draw), first_(first), bytes_(bytes), scales_at_(bytes.size()) {
  values_at_ = scales_at_ + scale_part(code, n);
  bytes.resize(scales_at_ + value_bytes(code, n));
}

void ValueWriter::put(std::span<float> x, bool keeps_error) {
  HS_CHECK(x.size() <= kValueChunk && written_ % kValueChunk == 0);
  if (code_.kind == ValueKind::fp32) {
    for (float& each : x) each = std::isfinite(each) ? each : 0.0f;
    std::memcpy(bytes_.data() + values_at_ + 4 * written_, x.data(), x.size_bytes());
    if (keeps_error) std::fill(x.begin(), x.end(), 0.0f);
  } else if (code_.kind == ValueKind::bf16) {
    put_bf16(x, keeps_error);
  } else {
    put_levels(x, keeps_error);
  }
  written_ += x.size();
}

void ValueWriter::put_bf16(std::span<float> x, bool keeps_error) {
  std::uint16_t to[kValueChunk];
  if (code_.is_stochastic) {
    kernels::PhiloxBlock words{};
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::uint64_t index = first_ + written_ + i;
      if (i % 8 == 0) words = words_of(index / 8, draw_);
      const std::uint32_t random = words.word[i % 8 / 2] >> (i % 2 * 16) & 0xFFFFu;
      to[i] = kernels::at_random(bounded(x[i]), random, Bf16{}).bits;
    }
  } else {
    bf16_of(x.size(), x.data(), to);
  }
  std::memcpy(bytes_.data() + values_at_ + 2 * written_, to, 2 * x.size());
  if (!keeps_error) return;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = bounded(x[i]) - kernels::widen(Bf16{to[i]});
  }
}

void ValueWriter::put_levels(std::span<float> x, bool keeps_error) {
  const std::span<std::uint8_t> all(bytes_);
  const auto levels =
      all.subspan(values_at_ + value_part(code_, written_), value_part(code_, x.size()));
  const auto scales =
      all.subspan(scales_at_ + scale_part(code_, written_), scale_part(code_, x.size()));
  const std::span<float> error = keeps_error ? x : std::span<float>{};
  if (code_.is_lloyd()) return put_lloyd(lloyd_of(code_), x, levels, scales, error);
  kernels::quantise(spec_of(code_, draw_), first_ + written_, x, levels, scales, error);
}

ValueReader::ValueReader(const ValueCode& code, std::size_t n, PackedView section)
    : code_(code),
      scales_(section.first(scale_part(code, n))),
      values_(section.subspan(scales_.size())) {
  HS_CHECK(section.size() == value_bytes(code, n));
}

void ValueReader::get(std::span<float> y) {
  HS_CHECK(y.size() <= kValueChunk && read_ % kValueChunk == 0);
  const PackedView part = values_.subspan(value_part(code_, read_), value_part(code_, y.size()));
  if (code_.kind == ValueKind::fp32) {
    std::memcpy(y.data(), part.data(), part.size());
  } else if (code_.kind == ValueKind::bf16) {
    std::uint16_t from[kValueChunk];
    std::memcpy(from, part.data(), part.size());
    values_of_bf16(y.size(), from, y.data());
  } else {
    const PackedView scales =
        scales_.subspan(scale_part(code_, read_), scale_part(code_, y.size()));
    if (code_.is_lloyd()) {
      get_lloyd(lloyd_of(code_), part, scales, y);
    } else {
      kernels::dequantise(spec_of(code_, {}), part, scales, y);
    }
  }
  read_ += y.size();
}

void take_start(const ValueCode& code, std::span<const float> w, std::span<const float> start,
                std::span<float> x) {
  if (code.is_relative()) {
    subtract(x.size(), w.data(), start.data(), x.data());
  } else {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::isfinite(w[i]) ? w[i] : start[i];
  }
}

void add_start(const ValueCode& code, std::span<const float> start, std::span<float> y) {
  if (code.is_relative()) add(y.size(), start.data(), y.data());
}

}  // namespace hearsay::gossip
