// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gossip/codec/average_support.hpp"
#include "gossip/codec/budget.hpp"
#include "gossip/codec/dense_codec.hpp"
#include "gossip/codec/density_codec.hpp"
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
    SparseCodec codec(ground_, support(self), settings_.smoothing, settings_.is_mirrored, self);
    if (!settings_.density) return std::make_unique<SparseCodec>(std::move(codec));
    return std::make_unique<DensityCodec>(std::move(codec),
                                          Density(settings_.share, *settings_.density),
                                          [settings = settings_](double share) mutable {
                                            settings.share = share;
                                            return text_of(settings);
                                          });
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
    const Budget budget(settings_.share, settings_.is_per_tensor, places);
    if (settings_.kind == Kind::average)
      return std::make_unique<AverageSupport>(settings_.average, budget, places, most_entries());
    return std::make_unique<LargestSupport>(settings_.kind == Kind::topk
                                                ? LargestSupport::Kind::exact
                                                : LargestSupport::Kind::threshold,
                                            budget, places, most_entries());
  }

  // That a message may name by position, at the largest share.
  std::size_t most_entries() const {
    const Places& places = ground_->places;
    const bool may_say_all =
        settings_.smoothing.mode == SmoothingRule::Mode::literal ||
        (settings_.kind == Kind::average && settings_.average.kind == AverageRule::Kind::literal);
    if (may_say_all) return places.large_count();
    const double share = settings_.density ? Density::kMost : settings_.share;
    const std::size_t most = Budget(share, settings_.is_per_tensor, places).entries();
    const std::size_t times = settings_.kind == Kind::threshold ? 2 : 1;
    return std::min(times * most, places.large_count());
  }

  CodecSettings settings_;
  CodecGroundRef ground_;
  std::shared_ptr<const LowRankSlots> slots_;  // null but for low rank
  std::string text_;
  std::size_t most_bytes_;
};

// From many bits to few, below weights as they are: the best of experiments/frontier.md at a half
// to a quarter of the bytes each. No fewer than the last: where a link takes less, rare messages
// that say more teach more.
std::vector<CodecSettings> ladder_rungs() {
  const auto dense = [](ValueKind kind) {
    CodecSettings settings;
    settings.values = {.kind = kind, .is_stochastic = true};
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
  return {dense(ValueKind::int8), dense(ValueKind::int4), blocks(0.25, ValueKind::int4),
          blocks(0.25, ValueKind::lloyd2)};
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
    return std::make_shared<LadderPlan>(text_of(settings), choice(ladder_rungs()), layout.size());
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
