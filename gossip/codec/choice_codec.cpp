// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/choice_codec.hpp"

#include <algorithm>
#include <utility>

#include "gossip/codec/message.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {

ChoiceCodec::ChoiceCodec(const std::vector<Rung>& rungs, kernels::PeerId self) : rungs_(rungs) {
  for (const Rung& each : rungs) {
    codecs_.push_back(each.plan->make(self));
    HS_CHECK(codecs_.back()->mirrors());
  }
}

std::optional<std::size_t> ChoiceCodec::rung_of(const merge::Packed& message) const {
  PackedReader reader(message.bytes);
  if (!reader.skip(1)) return std::nullopt;
  const auto tag = reader.get<std::uint32_t>();
  for (std::size_t i = 0; tag && i < rungs_.size(); ++i)
    if (rungs_[i].tag == *tag) return i;
  return std::nullopt;
}

merge::PackedRef ChoiceCodec::encode(std::span<const float> weights, const merge::Packed* like) {
  const auto asked = like != nullptr ? rung_of(*like) : std::nullopt;
  spoken_rung_ = asked.value_or(rung());
  spoken_ = &rungs_[spoken_rung_].plan->text();
  return codecs_[spoken_rung_]->encode(weights, asked ? like : nullptr);
}

Unpacked ChoiceCodec::decode(const merge::Packed& message, std::span<const float> base,
                             std::span<float> in) const {
  // Of what is nobody's, the first one says what is wrong with it.
  return codecs_[rung_of(message).value_or(0)]->decode(message, base, in);
}

void ChoiceCodec::forget() {
  for (const auto& each : codecs_) each->forget();
}

void ChoiceCodec::state(Archive& archive) {
  for (std::size_t i = 0; i < codecs_.size(); ++i)
    archive(("rung " + std::to_string(i)).c_str(), *codecs_[i]);
}

ChoicePlan::ChoicePlan(std::string text, std::vector<ChoiceCodec::Rung> rungs)
    : text_(std::move(text)), rungs_(std::move(rungs)) {
  for (const ChoiceCodec::Rung& each : rungs_)
    most_bytes_ = std::max(most_bytes_, each.plan->most_bytes());
}

}  // namespace hearsay::gossip
