// SPDX-License-Identifier: Apache-2.0
// What the tests of codecs share: settings by short words, models with and without small tensors,
// weights that have moved from where they started.
#pragma once

#include <string>
#include <vector>

#include "gossip/codec/plan.hpp"
#include "gossip/codec/sparse_codec.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::gossip::testkit {

using kernels::PeerId;
using Kind = CodecSettings::Kind;

inline CodecSettings dense(ValueKind kind, bool is_stochastic = false, bool keeps_error = false) {
  CodecSettings settings;
  settings.values = {.kind = kind, .is_stochastic = is_stochastic};
  settings.keeps_error = keeps_error;
  return settings;
}

inline CodecSettings sparse(Kind kind, double share, ValueKind values = ValueKind::fp32,
                            bool is_mirrored = false) {
  CodecSettings settings;
  settings.kind = kind;
  settings.share = share;
  settings.block_size = 16;
  settings.values.kind = values;
  settings.is_mirrored = is_mirrored;
  return settings;
}

inline CodecSettings averaged(AverageRule::Kind rule, double share,
                              ValueKind values = ValueKind::fp32, bool is_mirrored = false) {
  CodecSettings settings = sparse(Kind::average, share, values, is_mirrored);
  settings.average = {rule, AverageRule::usual_beta(rule)};
  return settings;
}

inline CodecSettings smoothed(SmoothingRule::Mode mode, double share, bool is_mirrored = false) {
  CodecSettings settings = sparse(Kind::topk, share, ValueKind::int8, is_mirrored);
  settings.smoothing.mode = mode;
  return settings;
}

// Those whose choice or values go from message to message.
inline std::vector<CodecSettings> settings_with_history() {
  using Rule = AverageRule::Kind;
  using Mode = SmoothingRule::Mode;
  std::vector<CodecSettings> all{averaged(Rule::corrected, 0.05),
                                 averaged(Rule::literal, 0.05, ValueKind::int8),
                                 averaged(Rule::score, 0.05, ValueKind::int4, true),
                                 smoothed(Mode::ef, 0.05, true),
                                 smoothed(Mode::on_support, 0.05),
                                 smoothed(Mode::literal, 0.05, true),
                                 sparse(Kind::topk, 0.05),
                                 sparse(Kind::threshold, 0.05, ValueKind::bf16, true)};
  all[2].is_per_tensor = true;
  all[6].is_per_tensor = true;
  all[6].density.emplace();
  all[7].density.emplace();
  return all;
}

// One of each kind of message and of values.
inline std::vector<CodecSettings> all_settings() {
  std::vector<CodecSettings> all{dense(ValueKind::fp32), dense(ValueKind::bf16),
                                 dense(ValueKind::bf16, true), dense(ValueKind::int8, true),
                                 dense(ValueKind::int4, false, true)};
  for (const Kind kind : {Kind::topk, Kind::threshold, Kind::random, Kind::blocks}) {
    for (const ValueKind values : {ValueKind::fp32, ValueKind::bf16, ValueKind::int8})
      all.push_back(sparse(kind, 0.05, values, values == ValueKind::bf16));
  }
  CodecSettings fine = sparse(Kind::topk, 0.05, ValueKind::int4, true);
  fine.values.block = 32;
  fine.values.is_stochastic = true;
  all.push_back(fine);
  all.push_back(dense(ValueKind::lloyd3, false, true));
  all.push_back(sparse(Kind::topk, 0.05, ValueKind::sign));
  all.push_back(sparse(Kind::blocks, 0.05, ValueKind::lloyd2, true));
  all.push_back(sparse(Kind::blocks, 0.05, ValueKind::fp32, true));
  all.back().fits_bits = true;
  all.emplace_back();
  all.back().kind = Kind::lossless;
  for (const CodecSettings& each : settings_with_history()) all.push_back(each);
  return all;
}

// One tensor of n values.
inline kernels::Layout plain(std::size_t n) {
  kernels::Layout layout;
  layout.add("0.weight", {n});
  return layout;
}

// Weight matrices with biases between them, a large tensor at neither end.
inline kernels::Layout layered() {
  kernels::Layout layout;
  layout.add("scale", {3});
  layout.add("0.weight", {80, 900});
  layout.add("0.bias", {80});
  layout.add("1.weight", {30, 70});
  layout.add("2.weight", {20, 100});
  layout.add("2.bias", {1});
  return layout;
}

inline std::vector<float> normals(std::size_t n, double scale, std::uint64_t seed) {
  kernels::Rng rng = kernels::Rng::stream(seed, "codec-test");
  std::vector<float> values(n);
  for (float& each : values) each = static_cast<float>(scale * rng.normal());
  return values;
}

// Moves w by normal steps.
inline void drift(std::vector<float>& w, double scale, std::uint64_t seed) {
  const std::vector<float> step = normals(w.size(), scale, seed);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] += step[i];
}

inline std::span<const float> published(const Codec& codec) {
  return dynamic_cast<const SparseCodec&>(codec).published();
}

}  // namespace hearsay::gossip::testkit
