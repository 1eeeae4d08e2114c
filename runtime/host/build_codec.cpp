// SPDX-License-Identifier: Apache-2.0
// --codec: from its text to a plan.
#include "runtime/host/build_codec.hpp"

#include <bit>
#include <string>
#include <vector>

#include "gossip/choco/choco_message.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/config/protocol_kinds.hpp"
#include "runtime/host/selection_words.hpp"

namespace hearsay::runtime {
namespace {

using gossip::CodecSettings;
using gossip::ValueKind;
using kernels::UsageError;
using Kind = CodecSettings::Kind;

const std::string kOption = "--codec";
const std::vector<std::string> kHeads{"raw",    "auto",   "fp32",   "bf16",    "int8",      "int4",
                                      "lloyd3", "lloyd2", "sign",   "topk",    "threshold", "ma",
                                      "score",  "randk",  "blocks", "lowrank", "lossless"};
const std::vector<std::string> kModifiers{"fp32",   "bf16", "int8",   "int4", "lloyd3",
                                          "lloyd2", "sign", "auto",   "sr",   "ef",
                                          "mirror", "qm",   "density"};

std::optional<ValueKind> value_kind(const std::string& name) {
  if (name == "fp32") return ValueKind::fp32;
  if (name == "bf16") return ValueKind::bf16;
  if (name == "int8") return ValueKind::int8;
  if (name == "int4") return ValueKind::int4;
  if (name == "lloyd3") return ValueKind::lloyd3;
  if (name == "lloyd2") return ValueKind::lloyd2;
  if (name == "sign") return ValueKind::sign;
  return std::nullopt;
}

std::size_t power_of_two(const Spec& spec, const char* key, const char* standard, std::size_t least,
                         std::size_t most) {
  const std::string text = spec.arg(key).value_or(standard);
  const std::uint64_t value = parse_count(kOption, text);
  if (value < least || value > most || !std::has_single_bit(value)) {
    throw UsageError(kOption + " " + spec.name + ": " + key + " is a power of two from " +
                     std::to_string(least) + " to " + std::to_string(most) + ", not " + text);
  }
  return value;
}

// fp32, bf16, int8:block=64, int4:block=64, lloyd3:block=64 and so on; as a head or as a modifier.
gossip::ValueCode value_code(const Spec& spec, ValueKind kind) {
  gossip::ValueCode code;
  code.kind = kind;
  if (code.has_scales()) {
    reject_unknown(kOption, spec, {"block"}, 0);
    code.block = static_cast<std::uint32_t>(power_of_two(spec, "block", "64", 32, 256));
  } else {
    reject_unknown(kOption, spec, {}, 0);
  }
  return code;
}

double density(const Spec& spec) {
  if (spec.values.empty()) {
    throw UsageError(kOption + " " + spec.name + ": say which share of the weights, such as " +
                     spec.name + ":1%");
  }
  const std::string& text = spec.values.front();
  const double share = parse_share(kOption, text);
  if (share == 1.0) {
    throw UsageError(kOption + " " + spec.name + ":" + text + ": did you mean 1 % (" + spec.name +
                     ":1%)? a codec that says all weights is fp32, bf16, int8 or int4");
  }
  if (!(share > 0.0))
    throw UsageError(kOption + " " + spec.name + ": a density lies above 0, not " + text);
  return share;
}

Kind sparse_kind(const std::string& name) {
  if (name == "topk") return Kind::topk;
  if (name == "threshold") return Kind::threshold;
  if (name == "ma" || name == "score") return Kind::average;
  if (name == "randk") return Kind::random;
  if (name == "blocks") return Kind::blocks;
  throw_unknown("codec", name, kHeads);
}

// lowrank:4
CodecSettings low_rank(const Spec& spec) {
  reject_unknown(kOption, spec, {}, 1);
  if (spec.values.empty()) {
    throw UsageError(kOption +
                     " lowrank: say along how many directions of each matrix, such as "
                     "lowrank:4");
  }
  constexpr std::uint64_t kMostRank = 64;
  CodecSettings settings;
  settings.kind = Kind::low_rank;
  settings.rank = parse_count(kOption, spec.values.front());
  if (settings.rank < 1 || settings.rank > kMostRank) {
    throw UsageError(kOption + " " + spec.text + ": 1 to " + std::to_string(kMostRank) +
                     " directions");
  }
  return settings;
}

// lossless, lossless:anchor=32
CodecSettings lossless(const Spec& spec) {
  reject_unknown(kOption, spec, {"anchor"}, 0);
  CodecSettings settings;
  settings.kind = Kind::lossless;
  const auto text = spec.arg("anchor");
  if (!text) return settings;
  constexpr std::uint64_t kMost = 65'536;
  const std::uint64_t anchor = parse_count(kOption, *text);
  if (anchor < 1 || anchor > kMost) {
    throw UsageError(kOption + " " + spec.text + ": one message in 1 to " + std::to_string(kMost) +
                     " is whole; try lossless:anchor=32");
  }
  settings.anchor = static_cast<std::uint32_t>(anchor);
  return settings;
}

CodecSettings head_of(const Spec& spec) {
  CodecSettings settings;
  if (spec.name == "lossless") return lossless(spec);
  if (spec.name == "lowrank") return low_rank(spec);
  if (const auto kind = value_kind(spec.name)) {
    settings.values = value_code(spec, *kind);
    return settings;
  }
  settings.kind = sparse_kind(spec.name);
  read_selection(spec, settings);
  if (settings.kind == Kind::blocks)
    settings.block_size = power_of_two(spec, "size", "64", 16, 4096);
  settings.share = density(spec);
  return settings;
}

// What the modifiers said, each subject once.
struct Said {
  std::string values, rounding, momentum, density;
};

void say_once(const Spec& whole, std::string& subject, const std::string& name) {
  if (subject == name)
    throw UsageError(kOption + " " + whole.text + ": '+" + name + "' is given twice");
  if (!subject.empty()) {
    throw UsageError(kOption + " " + whole.text + ": '+" + subject + "' and '+" + name +
                     "' exclude each other; give one");
  }
  subject = name;
}

void add_modifier(const Spec& whole, const Spec& modifier, Said& said, CodecSettings& settings) {
  const bool is_dense = settings.kind == Kind::dense;
  if (settings.kind == Kind::low_rank) {
    throw UsageError(kOption + " " + whole.text +
                     ": 'lowrank' takes no modifier; its answers "
                     "speak of what was asked about, and what is left out is said later");
  }
  if (settings.kind == Kind::lossless) {
    throw UsageError(kOption + " " + whole.text +
                     ": 'lossless' takes no modifier; it says every bit of the bf16 weights, and "
                     "nothing is left out");
  }
  if (const auto kind = value_kind(modifier.name)) {
    if (is_dense) {
      throw UsageError(kOption + " " + whole.text + ": '" + whole.name +
                       "' says already how weights are written; drop '+" + modifier.name + "'");
    }
    say_once(whole, said.values, modifier.name);
    settings.values = value_code(modifier, *kind);
    return;
  }
  if (modifier.name == "auto" && !is_dense) {
    reject_unknown(kOption, modifier, {"noise"}, 0);
    say_once(whole, said.values, modifier.name);
    settings.fits_bits = true;
    if (const auto text = modifier.arg("noise")) settings.noise = parse_number(kOption, *text);
    if (settings.noise >= 0.01 && settings.noise <= 10.0) return;
    throw UsageError(kOption + " " + whole.text +
                     ": noise lies from 0.01 to 10 times the distance");
  }
  if (modifier.name == "qm") {
    say_once(whole, said.momentum, modifier.name);
    settings.smoothing = smoothing_rule(modifier);
    return;
  }
  if (modifier.name == "density") {
    say_once(whole, said.density, modifier.name);
    settings.density = density_rule(modifier);
    return;
  }
  reject_unknown(kOption, modifier, {}, 0);
  if (modifier.name == "sr" || modifier.name == "ef") {
    say_once(whole, said.rounding, modifier.name);
  } else if (modifier.name != "mirror") {
    throw_unknown("codec modifier", modifier.name, kModifiers);
  } else if (is_dense) {
    throw UsageError(kOption + " " + whole.text +
                     ": '+mirror' goes with topk, threshold, randk and blocks; '" + whole.name +
                     "' says all weights anyway");
  } else {
    if (settings.is_mirrored)
      throw UsageError(kOption + " " + whole.text + ": '+mirror' is given twice");
    settings.is_mirrored = true;
  }
}

void check_bits(const Spec& whole, const Said& said, const CodecSettings& settings) {
  if (!settings.fits_bits) return;
  if (!settings.is_mirrored) {
    throw UsageError(kOption + " " + whole.text +
                     ": '+auto' measures the distance to what answers speak of; add '+mirror'");
  }
  if (!said.rounding.empty()) {
    throw UsageError(kOption + " " + whole.text + ": '+auto' takes the nearest level; drop '+" +
                     said.rounding + "'");
  }
}

void set_rounding(const Spec& whole, const std::string& rounding, CodecSettings& settings) {
  const bool is_dense = settings.kind == Kind::dense;
  gossip::ValueCode& code = settings.values;
  if (code.kind == ValueKind::fp32 && (rounding == "sr" || (is_dense && rounding == "ef"))) {
    throw UsageError(kOption + " " + whole.text + ": fp32 is not rounded; drop '+" + rounding +
                     "', or write bf16, int8 or int4");
  }
  if (code.is_lloyd() && rounding == "sr") {
    throw UsageError(kOption + " " + whole.text +
                     ": lloyd3, lloyd2 and sign take the nearest level; drop '+sr'");
  }
  code.is_stochastic =
      rounding == "sr" || (rounding.empty() && is_dense && code.has_scales() && !code.is_lloyd());
  settings.keeps_error = is_dense && rounding == "ef";
}

}  // namespace

std::optional<CodecSettings> codec_settings(const Spec& codec) {
  if (codec.name == "raw") {
    reject_unknown(kOption, codec, {}, 0);
    if (!codec.modifiers.empty()) {
      throw UsageError(kOption + " " + codec.text +
                       ": 'raw' takes no modifier; did you mean bf16, "
                       "int8 or topk:1%+" +
                       codec.modifiers.front().name + "?");
    }
    return std::nullopt;
  }
  if (codec.name == "auto") {
    reject_unknown(kOption, codec, {}, 0);
    if (!codec.modifiers.empty()) {
      throw UsageError(kOption + " " + codec.text +
                       ": 'auto' chooses how weights are written; drop '+" +
                       codec.modifiers.front().name + "'");
    }
    CodecSettings settings;
    settings.kind = Kind::ladder;
    return settings;
  }
  CodecSettings settings = head_of(codec);
  Said said;
  for (const Spec& modifier : codec.modifiers) add_modifier(codec, modifier, said, settings);
  check_bits(codec, said, settings);
  check_selection(codec, settings);
  set_rounding(codec, said.rounding, settings);
  return settings;
}

std::shared_ptr<const gossip::CodecPlan> build_codec(const Spec& codec,
                                                     const kernels::Layout& layout,
                                                     std::span<const float> start,
                                                     std::uint64_t seed) {
  const auto settings = codec_settings(codec);
  if (!settings) return nullptr;
  return gossip::make_codec_plan(*settings, layout, start, seed);
}

std::shared_ptr<const gossip::CodecPlan> build_pool_codec(const RunConfig& config,
                                                          const kernels::Layout& layout,
                                                          std::span<const float> start) {
  const std::vector<float> zeros(start.size());
  if (is_synchronous(config.protocol.name))
    return build_codec(config.codec, layout, zeros, config.seed);
  if (config.protocol.name != "choco") return build_codec(config.codec, layout, start, config.seed);
  return std::make_shared<const gossip::ChocoPlan>(
      build_codec(config.codec, layout, zeros, config.seed), start.size());
}

gossip::wire::CodecBounds bounds_of(const gossip::CodecPlan* codec) {
  if (codec == nullptr) return {};
  return {codec->most_bytes(), codec->also_raw()};
}

}  // namespace hearsay::runtime
