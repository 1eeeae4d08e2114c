// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/ladder_codec.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

const std::string kRaw = "raw";

std::vector<double> bytes_of(const std::vector<LadderCodec::Rung>& rungs, double raw_bytes) {
  std::vector<double> bytes{raw_bytes};
  for (const LadderCodec::Rung& each : rungs)
    bytes.push_back(static_cast<double>(each.plan->most_bytes()));
  return bytes;
}

}  // namespace

Ladder::Ladder(std::vector<double> bytes) : bytes_(std::move(bytes)), rung_(bytes_.size() - 1) {
  HS_CHECK(!bytes_.empty());
}

void Ladder::move_to(std::size_t rung) {
  rung_ = rung;
  seen_ = 0;
  calm_ = 0;
}

bool Ladder::add(double took) {
  if (!std::isfinite(took) || took < 0.0) return false;
  ++since_step_up_;
  ++calm_;
  const bool is_last = rung_ + 1 == bytes_.size();  // elsewhere the link would be taken for waiting
  shortest_ = shortest_ < 0.0 ? took : std::min(took, shortest_ * (is_last ? kForget : 1.0));
  shortest_of_window_ = seen_ == 0 ? took : std::min(shortest_of_window_, took);
  ++seen_;
  const double link = shortest_of_window_ - shortest_;
  const bool is_clear = link > kFar || (is_rising_ && link <= kMost);
  if (!is_clear && seen_ < kWindow) return false;
  seen_ = 0;
  if (link > kMost && !is_last) {
    is_rising_ = false;
    if (since_step_up_ <= kTrial) patience_ = std::min(2 * patience_, kMostCalm);
    std::size_t to = rung_ + 1;
    while (to + 1 < bytes_.size() && link * bytes_[to] / bytes_[rung_] > kMost) ++to;
    move_to(to);
    return true;
  }
  if (since_step_up_ > kTrial && calm_ == since_step_up_) patience_ = kWindow;  // not in vain
  if (rung_ == 0 || link > kMost || (!is_rising_ && calm_ < patience_)) return false;
  const bool is_quick = is_rising_ && shortest_of_window_ <= kQuick;
  move_to(is_quick && rung_ > 1 ? rung_ - 2 : rung_ - 1);
  since_step_up_ = 0;
  return true;
}

void Ladder::state(Archive& archive) {
  archive("rung", rung_)("shortest", shortest_)("of_window", shortest_of_window_)("seen", seen_);
  archive("calm", calm_)("since_step_up", since_step_up_)("patience", patience_);
  archive("rising", is_rising_);
  if (rung_ >= bytes_.size()) archive.fail("rung", "does not exist");
  const auto is_time = [](double each) { return std::isfinite(each) && each >= -1.0; };
  if (!is_time(shortest_) || !is_time(shortest_of_window_))
    archive.fail("shortest", "is out of range");
}

LadderCodec::LadderCodec(const std::vector<Rung>& coded, double raw_bytes, kernels::PeerId self)
    : ChoiceCodec(coded, self), bytes_(bytes_of(coded, raw_bytes)), ladder_(bytes_) {}

merge::PackedRef LadderCodec::encode(std::span<const float> weights, const merge::Packed* like) {
  said_raw_ = like == nullptr && level() == 0;
  return said_raw_ ? nullptr : ChoiceCodec::encode(weights, like);
}

const std::string* LadderCodec::spoken() const { return said_raw_ ? &kRaw : ChoiceCodec::spoken(); }

std::optional<CodecChange> LadderCodec::changed_from(std::size_t before) const {
  const auto text = [&](std::size_t at) { return at == 0 ? kRaw : text_of(at - 1); };
  if (level() == before) return std::nullopt;
  return CodecChange{text(before), text(level())};
}

std::optional<CodecChange> LadderCodec::adapt(double busy) {
  const std::size_t before = level();
  ladder_.add(busy);
  return changed_from(before);
}

std::optional<CodecChange> LadderCodec::afford(double bytes) {
  const std::size_t before = level();
  first_ = 0;
  while (first_ + 1 < bytes_.size() && bytes_[first_] > bytes) ++first_;
  return changed_from(before);
}

void LadderCodec::state(Archive& archive) {
  archive("ladder", ladder_)("first", first_);
  if (first_ >= bytes_.size()) archive.fail("first", "does not exist");
  ChoiceCodec::state(archive);
}

}  // namespace hearsay::gossip
