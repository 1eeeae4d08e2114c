// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/settings.hpp"

#include <charconv>

namespace hearsay::gossip {
namespace {

using Kind = CodecSettings::Kind;

std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

const char* name_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::fp32: return "fp32";
    case ValueKind::bf16: return "bf16";
    case ValueKind::int8: return "int8";
    case ValueKind::int4: return "int4";
    case ValueKind::lloyd3: return "lloyd3";
    case ValueKind::lloyd2: return "lloyd2";
    case ValueKind::sign: return "sign";
  }
  return "";
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::topk: return "topk";
    case Kind::threshold: return "threshold";
    case Kind::average: return "ma";
    case Kind::random: return "randk";
    case Kind::blocks: return "blocks";
    case Kind::ladder: return "auto";
    case Kind::low_rank: return "lowrank";
    case Kind::lossless: return "lossless";
    case Kind::dense: break;
  }
  return "";
}

std::string code_text(const ValueCode& code) {
  std::string text = name_of(code.kind);
  if (code.has_scales() && code.block != ValueCode{}.block)
    text += ":block=" + std::to_string(code.block);
  return text;
}

std::string average_text(const AverageRule& rule) {
  std::string text;
  if (rule.kind == AverageRule::Kind::literal) text += ",rule=literal";
  if (rule.beta != AverageRule::usual_beta(rule.kind)) text += ",beta=" + shortest(rule.beta);
  return text;
}

std::string smoothing_text(const SmoothingRule& rule) {
  std::string more;
  if (rule.mode == SmoothingRule::Mode::on_support) more = "on_support";
  if (rule.mode == SmoothingRule::Mode::literal) more = "literal";
  if (rule.gain != SmoothingRule{}.gain)
    more += (more.empty() ? "b=" : ",b=") + shortest(rule.gain);
  return "+qm" + (more.empty() ? more : ":" + more);
}

std::string density_text(const DensityRule& rule) {
  const bool is_slow_usual = rule.slow == DensityRule{}.slow;
  std::string more = is_slow_usual ? "" : "slow=" + shortest(rule.slow);
  if (rule.fast != DensityRule{}.fast)
    more += (is_slow_usual ? "fast=" : ",fast=") + shortest(rule.fast);
  return "+density" + (more.empty() ? more : ":" + more);
}

}  // namespace

std::string text_of(const CodecSettings& settings) {
  const ValueCode& code = settings.values;
  const bool is_dense = settings.kind == Kind::dense;
  std::string text;
  if (is_dense) {
    text = code_text(code);
    if (settings.keeps_error) text += "+ef";
    if (code.is_stochastic && code.kind == ValueKind::bf16) text += "+sr";
    return text;
  }
  if (settings.kind == Kind::ladder) return name_of(settings.kind);
  if (settings.kind == Kind::low_rank) return "lowrank:" + std::to_string(settings.rank);
  if (settings.kind == Kind::lossless) {
    const bool is_usual = settings.anchor == CodecSettings{}.anchor;
    return is_usual ? "lossless" : "lossless:anchor=" + std::to_string(settings.anchor);
  }
  const bool is_score = settings.average.kind == AverageRule::Kind::score;
  text = settings.kind == Kind::average && is_score ? "score" : name_of(settings.kind);
  text += ":" + shortest(settings.share);
  if (settings.kind == Kind::average) text += average_text(settings.average);
  if (settings.is_per_tensor) text += ",per=tensor";
  if (settings.kind == Kind::blocks && settings.block_size != CodecSettings{}.block_size)
    text += ",size=" + std::to_string(settings.block_size);
  if (settings.fits_bits) {
    text += "+auto";
    if (settings.noise != CodecSettings{}.noise) text += ":noise=" + shortest(settings.noise);
  } else if (code.kind != ValueKind::fp32) {
    text += "+" + code_text(code);
  }
  if (code.is_stochastic) text += "+sr";
  if (settings.smoothing.mode != SmoothingRule::Mode::none)
    text += smoothing_text(settings.smoothing);
  if (settings.density) text += density_text(*settings.density);
  if (settings.is_mirrored) text += "+mirror";
  return text;
}

}  // namespace hearsay::gossip
