// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/dense_codec.hpp"

#include <algorithm>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::gossip {

DenseCodec::DenseCodec(CodecGroundRef ground, bool keeps_error, kernels::PeerId self)
    : ground_(std::move(ground)),
      key_(kernels::Rng::stream(ground_->seed, "codec-values", self.value).next_u64()),
      error_(keeps_error ? ground_->start.size() : 0) {}

std::size_t DenseCodec::message_bytes(const CodecGround& ground) {
  return kPackedHead + value_bytes(ground.code, ground.start.size());
}

merge::PackedRef DenseCodec::encode(std::span<const float> weights, const merge::Packed*) {
  const std::span<const float> start(ground_->start);
  HS_CHECK(weights.size() == start.size());
  auto message = std::make_shared<merge::Packed>();
  message->bytes.reserve(message_bytes(*ground_));
  put_head(message->bytes, PackedForm::all, ground_->tag);
  ValueWriter writer(ground_->code, {key_, said_++}, 0, weights.size(), message->bytes);
  float chunk[kValueChunk];
  for (std::size_t at = 0; at < weights.size(); at += kValueChunk) {
    const std::size_t n = std::min(kValueChunk, weights.size() - at);
    const std::span<float> x(chunk, n);
    take_start(ground_->code, weights.subspan(at, n), start.subspan(at, n), x);
    if (error_.size() > 0) {
      const std::span<float> error = error_.span().subspan(at, n);
      for (std::size_t i = 0; i < n; ++i) x[i] += error[i];
      writer.put(x, true);
      std::copy(x.begin(), x.end(), error.begin());
    } else {
      writer.put(x);
    }
  }
  return message;
}

Unpacked DenseCodec::decode(const merge::Packed& message, std::span<const float> base,
                            std::span<float> in) const {
  const std::span<const float> start(ground_->start);
  HS_CHECK(base.size() == start.size() && in.size() == start.size());
  Unpacked result;
  PackedReader reader(message.bytes);
  const auto form = read_head(reader, ground_->tag, result.fault);
  if (!form) return result;
  const std::size_t expected = message_bytes(*ground_);
  if (*form != PackedForm::all || message.bytes.size() != expected) {
    result.fault = "message has " + std::to_string(message.bytes.size()) +
                   " bytes, expected all weights in " + std::to_string(expected);
    return result;
  }
  ValueReader values(ground_->code, in.size(), reader.rest());
  for (std::size_t at = 0; at < in.size(); at += kValueChunk) {
    const std::size_t n = std::min(kValueChunk, in.size() - at);
    values.get(in.subspan(at, n));
    add_start(ground_->code, start.subspan(at, n), in.subspan(at, n));
  }
  result.values = in.size();
  return result;
}

void DenseCodec::forget() { std::fill_n(error_.data(), error_.size(), 0.0f); }

void DenseCodec::state(Archive& archive) {
  archive("said", said_);
  if (error_.size() == 0) return;
  archive.array("error", error_);
  if (error_.size() != ground_->start.size()) archive.fail("error", "is of another model");
}

}  // namespace hearsay::gossip
