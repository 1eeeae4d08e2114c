// SPDX-License-Identifier: Apache-2.0
// How the values of a message become bytes: fp32, bf16, or blocks with a bf16 scale each, of int8
// or int4 (kernels/ops/quantise_ops.hpp) or of fewer bits (lloyd.hpp). All but fp32 are taken
// relative to the weights that every peer started with, so that bits go to what training moved;
// start + decoded is one rounding, since the decoded value is exact. A section of n values is its
// scales, then its levels, or the values. Agreement: exact, whatever the pieces. Cost: 4 B read a
// value, its bytes written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gossip/codec/message.hpp"

namespace hearsay::gossip {

enum class ValueKind { fp32, bf16, int8, int4, lloyd3, lloyd2, sign };

struct ValueCode {
  ValueKind kind = ValueKind::fp32;
  std::uint32_t block = 64;    // values a scale: 32, 64, 128 or 256; not fp32 and bf16
  bool is_stochastic = false;  // rounded up or down with the mean of the value; else to nearest
  bool is_relative() const { return kind != ValueKind::fp32; }
  bool has_scales() const { return kind >= ValueKind::int8; }
  bool is_lloyd() const { return kind >= ValueKind::lloyd3; }
  double bits() const;  // a value, without scales
};

// Which random numbers a message takes: one key a peer, one stream a message.
struct ValueDraw {
  std::uint64_t key = 0, stream = 0;
};

std::size_t value_bytes(const ValueCode& code, std::size_t n);  // of a section

inline constexpr std::size_t kValueChunk = 4096;  // a multiple of every block

// Writes a section of n values behind `bytes`, from the front. `first`: number of its first value
// among those of the message, a multiple of the block.
class ValueWriter {
 public:
  ValueWriter(const ValueCode& code, ValueDraw draw, std::uint64_t first, std::size_t n,
              PackedBytes& bytes);
  // The next values: kValueChunk, fewer only at the end; what is not finite is written as 0. With
  // keeps_error, x is left with what was not said of it.
  void put(std::span<float> x, bool keeps_error = false);

 private:
  void put_bf16(std::span<float> x, bool keeps_error);
  void put_levels(std::span<float> x, bool keeps_error);

  ValueCode code_;
  ValueDraw draw_;
  std::uint64_t first_;
  std::size_t written_ = 0;
  PackedBytes& bytes_;
  std::size_t scales_at_, values_at_;
};

// Reads a section of n values from the front. Any bytes give some floats.
class ValueReader {
 public:
  ValueReader(const ValueCode& code, std::size_t n, PackedView section);  // value_bytes(code, n)
  void get(std::span<float> y);  // the next: kValueChunk, fewer only at the end

 private:
  ValueCode code_;
  std::size_t read_ = 0;
  PackedView scales_, values_;
};

// x = what is written of weights w: w - start where values are relative, else w, or start where w
// is not finite. x may be w.
void take_start(const ValueCode& code, std::span<const float> w, std::span<const float> start,
                std::span<float> x);

// y[i] += start[i] where the values are relative.
void add_start(const ValueCode& code, std::span<const float> start, std::span<float> y);

}  // namespace hearsay::gossip
