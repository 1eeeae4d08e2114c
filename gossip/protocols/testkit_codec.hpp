// SPDX-License-Identifier: Apache-2.0
// For tests: a codec that says every second weight, in turn the even and the odd ones, rounded to
// multiples of `grid`, and keeps what it has published. An answer of a mirroring one speaks of the
// weights that it answers.
//   message: u8 tag 'T', u8 first (0 or 1), then the values as f32
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gossip/codec/codec.hpp"

namespace hearsay::gossip::testkit {

class HalfCodec : public Codec {
 public:
  HalfCodec(std::size_t size, bool mirrors, float grid)
      : size_(size), mirrors_(mirrors), grid_(grid) {}

  merge::PackedRef encode(std::span<const float> weights, const merge::Packed* like) override {
    if (published_.size() == 0) published_ = zeros();
    const bool answers = mirrors_ && like != nullptr;
    const std::size_t first = answers ? like->bytes[1] : said_++ % 2;
    auto message = std::make_shared<merge::Packed>();
    message->bytes = {'T', static_cast<std::uint8_t>(first)};
    for (std::size_t i = first; i < size_; i += 2) {
      if (std::isfinite(weights[i])) published_[i] = grid_ * std::nearbyint(weights[i] / grid_);
      const std::size_t at = message->bytes.size();
      message->bytes.resize(at + sizeof(float));
      std::memcpy(message->bytes.data() + at, &published_[i], sizeof(float));
    }
    return message;
  }

  Unpacked decode(const merge::Packed& message, std::span<const float> base,
                  std::span<float> in) const override {
    const auto& bytes = message.bytes;
    if (bytes.size() < 2 || bytes[0] != 'T' || bytes[1] > 1) return {"another codec's message", 0};
    const std::size_t values = (size_ + 1 - bytes[1]) / 2;
    if (bytes.size() != 2 + values * sizeof(float)) return {"a message of another length", 0};
    std::copy(base.begin(), base.end(), in.begin());
    for (std::size_t i = 0; i < values; ++i)
      std::memcpy(&in[bytes[1] + 2 * i], bytes.data() + 2 + i * sizeof(float), sizeof(float));
    return {{}, values};
  }

  bool mirrors() const override { return mirrors_; }
  void forget() override { published_ = {}; }
  void state(Archive& a) override { a("said", said_).array("published", published_); }

 private:
  kernels::Buffer<float> zeros() const {
    kernels::Buffer<float> values(size_);
    for (float& value : values.span()) value = 0.0f;
    return values;
  }

  std::size_t size_;
  bool mirrors_;
  float grid_;
  std::uint64_t said_ = 0;  // messages that were no answers
  kernels::Buffer<float> published_;
};

class HalfPlan : public CodecPlan {
 public:
  HalfPlan(std::size_t size, bool mirrors, float grid = 1.0f)
      : size_(size), mirrors_(mirrors), grid_(grid), text_(mirrors ? "half+mirror" : "half") {}
  std::unique_ptr<Codec> make(kernels::PeerId) const override {
    return std::make_unique<HalfCodec>(size_, mirrors_, grid_);
  }
  const std::string& text() const override { return text_; }
  std::size_t most_bytes() const override { return 2 + (size_ + 1) / 2 * sizeof(float); }

 private:
  std::size_t size_;
  bool mirrors_;
  float grid_;
  std::string text_;
};

}  // namespace hearsay::gossip::testkit
