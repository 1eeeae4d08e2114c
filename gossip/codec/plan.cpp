// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/plan.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gossip/codec/dense_codec.hpp"
#include "gossip/codec/fit_codec.hpp"
#include "gossip/codec/ladder_codec.hpp"
#include "gossip/codec/largest_support.hpp"
#include "gossip/codec/lossless_codec.hpp"
#include "gossip/codec/low_rank_codec.hpp"
#include "gossip/codec/seeded_support.hpp"
#include "gossip/codec/sparse_codec.hpp"
#include "kernels/core/check.hpp"
#include "kernels/core/digest.hpp"

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

std::uint32_t tag_of(const std::string& text, const kernels::Layout& layout,
                     std::span<const float> start) {
  std::string all = text;
  for (const kernels::TensorSlot& slot : layout.slots())
    all += "\n" + slot.name + " " + std::to_string(slot.count);
  all += "\n" + kernels::digest(start).hex();
  const std::span<const char> chars(all);
  return static_cast<std::uint32_t>(
      kernels::digest64({reinterpret_cast<const std::uint8_t*>(chars.data()), chars.size()}));
}

class Plan final : public CodecPlan {
 public:
  Plan(CodecSettings settings, CodecGroundRef ground, const kernels::Layout& layout)
      : settings_(settings), ground_(std::move(ground)), text_(text_of(settings)) {
    if (settings_.kind == Kind::low_rank) {
      slots_ = std::make_shared<const LowRankSlots>(layout, settings_.rank);
      most_bytes_ = LowRankCodec::most_bytes(*slots_);
      return;
    }
    if (settings_.kind == Kind::lossless) {
      most_bytes_ = LosslessCodec::most_bytes(ground_->start.size());
      return;
    }
    most_bytes_ = is_dense() ? DenseCodec::message_bytes(*ground_)
                             : SparseCodec::most_bytes(*ground_, *support(kernels::PeerId(0)));
  }

  std::unique_ptr<Codec> make(kernels::PeerId self) const override {
    if (slots_) return std::make_unique<LowRankCodec>(ground_, slots_);
    if (settings_.kind == Kind::lossless)
      return std::make_unique<LosslessCodec>(ground_, settings_.anchor, self);
    if (is_dense()) return std::make_unique<DenseCodec>(ground_, settings_.keeps_error, self);
    return std::make_unique<SparseCodec>(ground_, support(self), settings_.is_mirrored, self);
  }
  const std::string& text() const override { return text_; }
  std::size_t most_bytes() const override { return most_bytes_; }

 private:
  bool is_dense() const { return settings_.kind == Kind::dense; }

  std::unique_ptr<Support> support(kernels::PeerId self) const {
    const Places& places = ground_->places;
    if (settings_.kind == Kind::random)
      return std::make_unique<RandomSupport>(settings_.share, places, ground_->seed, self);
    if (settings_.kind == Kind::blocks) {
      return std::make_unique<BlockSupport>(settings_.share, settings_.block_size, places,
                                            ground_->seed, self);
    }
    return std::make_unique<LargestSupport>(settings_.kind == Kind::topk
                                                ? LargestSupport::Kind::exact
                                                : LargestSupport::Kind::threshold,
                                            settings_.share, places);
  }

  CodecSettings settings_;
  CodecGroundRef ground_;
  std::shared_ptr<const LowRankSlots> slots_;  // null but for low rank
  std::string text_;
  std::size_t most_bytes_;
};

// From all bits to few: the best of experiments/frontier.md at about a quarter of the bytes each.
std::vector<CodecSettings> ladder_rungs() {
  const auto dense = [](ValueKind kind) {
    CodecSettings settings;
    settings.values = {.kind = kind, .is_stochastic = kind != ValueKind::fp32};
    return settings;
  };
  const auto blocks = [](double share, ValueKind values) {
    CodecSettings settings;
    settings.kind = Kind::blocks;
    settings.share = share;
    settings.values.kind = values;
    settings.is_mirrored = true;
    return settings;
  };
  return {dense(ValueKind::fp32),          dense(ValueKind::int8),
          dense(ValueKind::int4),          blocks(0.25, ValueKind::int4),
          blocks(0.0625, ValueKind::int4), blocks(0.03125, ValueKind::lloyd2)};
}

std::vector<CodecSettings> fit_rungs(CodecSettings settings) {
  HS_CHECK(settings.is_mirrored && settings.kind != Kind::dense);
  settings.fits_bits = false;
  std::vector<CodecSettings> all(Fit::kRungs, settings);
  all[0].values.kind = ValueKind::lloyd2;
  all[1].values.kind = ValueKind::lloyd3;
  all[2].values.kind = ValueKind::int4;
  all[3].values.kind = ValueKind::int8;
  return all;
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
  text = std::string(name_of(settings.kind)) + ":" + shortest(settings.share);
  if (settings.kind == Kind::blocks && settings.block_size != CodecSettings{}.block_size)
    text += ",size=" + std::to_string(settings.block_size);
  if (settings.fits_bits) {
    text += "+auto";
    if (settings.noise != CodecSettings{}.noise) text += ":noise=" + shortest(settings.noise);
  } else if (code.kind != ValueKind::fp32) {
    text += "+" + code_text(code);
  }
  if (code.is_stochastic) text += "+sr";
  if (settings.is_mirrored) text += "+mirror";
  return text;
}

std::shared_ptr<const CodecPlan> make_codec_plan(const CodecSettings& settings,
                                                 const kernels::Layout& layout,
                                                 std::span<const float> start, std::uint64_t seed) {
  HS_CHECK(start.size() == layout.size());
  HS_CHECK(start.size() <= std::numeric_limits<std::uint32_t>::max());
  const auto choice = [&](const std::vector<CodecSettings>& all) {
    std::vector<ChoiceCodec::Rung> rungs;
    for (const CodecSettings& each : all) {
      rungs.push_back(
          {tag_of(text_of(each), layout, start), make_codec_plan(each, layout, start, seed)});
    }
    return rungs;
  };
  if (settings.kind == Kind::ladder)
    return std::make_shared<LadderPlan>(text_of(settings), choice(ladder_rungs()));
  if (settings.fits_bits)
    return std::make_shared<FitPlan>(text_of(settings), choice(fit_rungs(settings)),
                                     settings.noise);
  const bool has_share = settings.kind != Kind::dense && settings.kind != Kind::low_rank &&
                         settings.kind != Kind::lossless;
  HS_CHECK(!has_share || (settings.share > 0.0 && settings.share < 1.0));
  std::vector<float> finite(start.begin(), start.end());
  for (float& each : finite) each = std::isfinite(each) ? each : 0.0f;
  auto ground = std::make_shared<CodecGround>(CodecGround{settings.values, seed,
                                                          tag_of(text_of(settings), layout, start),
                                                          std::move(finite), Places(layout)});
  return std::make_shared<Plan>(settings, std::move(ground), layout);
}

}  // namespace hearsay::gossip
