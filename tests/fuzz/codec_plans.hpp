// SPDX-License-Identifier: Apache-2.0
// The codecs whose messages are fuzzed, shared by the target and by what writes its first inputs.
// Dense ones for a few hundred weights, so that inputs stay short; sparse ones for a few thousand,
// or for two tiles of positions.
#pragma once

#include <memory>
#include <vector>

#include "gossip/codec/plan.hpp"

namespace hearsay::fuzz {

struct CodecUnderTest {
  std::shared_ptr<const gossip::CodecPlan> plan;
  std::vector<float> start, weights;
  std::vector<std::uint8_t> tag;  // of its messages: bytes 1 to 4
};

inline CodecUnderTest codec_under_test(const gossip::CodecSettings& settings, std::size_t weights) {
  kernels::Layout layout;
  layout.add("0.weight", {weights / 10, 10});
  layout.add("0.bias", {5});
  CodecUnderTest codec;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    codec.start.push_back(static_cast<float>(i % 17) * 0.01f);
    codec.weights.push_back(codec.start.back() + static_cast<float>(i * 7919 % 1009) * 1e-4f);
  }
  codec.plan = gossip::make_codec_plan(settings, layout, codec.start, 1);
  const auto said = codec.plan->make(kernels::PeerId(0))->encode(codec.weights, nullptr);
  codec.tag.assign(said->bytes.begin() + 1, said->bytes.begin() + gossip::kPackedHead);
  return codec;
}

inline std::vector<CodecUnderTest> codecs_under_test() {
  using gossip::ValueKind;
  using Kind = gossip::CodecSettings::Kind;
  std::vector<CodecUnderTest> all;
  for (const ValueKind kind :
       {ValueKind::fp32, ValueKind::bf16, ValueKind::int8, ValueKind::int4}) {
    gossip::CodecSettings settings;
    settings.values.kind = kind;
    settings.keeps_error = kind == ValueKind::int4;
    all.push_back(codec_under_test(settings, 300));
  }
  for (const Kind kind : {Kind::topk, Kind::threshold, Kind::random, Kind::blocks}) {
    for (const ValueKind values : {ValueKind::fp32, ValueKind::int4}) {
      gossip::CodecSettings settings;
      settings.kind = kind;
      settings.share = values == ValueKind::fp32 ? 0.002 : 0.02;
      settings.values.kind = values;
      settings.is_mirrored = true;
      all.push_back(codec_under_test(settings, values == ValueKind::fp32 ? 66'000 : 3000));
    }
  }
  gossip::CodecSettings few;
  few.values.kind = ValueKind::lloyd3;
  all.push_back(codec_under_test(few, 300));
  few.values.kind = ValueKind::sign;
  few.kind = Kind::blocks;
  few.share = 0.02;
  few.is_mirrored = true;
  all.push_back(codec_under_test(few, 3000));
  few = {};
  few.kind = Kind::average;
  few.share = 0.02;
  few.average.kind = gossip::AverageRule::Kind::literal;  // any number of entries
  all.push_back(codec_under_test(few, 3000));
  few.kind = Kind::topk;
  few.values.kind = ValueKind::int8;
  few.is_mirrored = true;
  few.is_per_tensor = true;
  few.smoothing.mode = gossip::SmoothingRule::Mode::literal;
  few.density.emplace();
  all.push_back(codec_under_test(few, 3000));
  few = {};
  few.kind = Kind::low_rank;
  few.rank = 2;
  all.push_back(codec_under_test(few, 1500));
  few = {};
  few.kind = Kind::ladder;
  all.push_back(codec_under_test(few, 1500));
  few.kind = Kind::lossless;
  all.push_back(codec_under_test(few, 1500));
  return all;
}

}  // namespace hearsay::fuzz
