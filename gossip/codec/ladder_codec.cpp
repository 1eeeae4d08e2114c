// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/ladder_codec.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

std::vector<double> bytes_of(const std::vector<LadderCodec::Rung>& rungs) {
  std::vector<double> bytes;
  for (const LadderCodec::Rung& each : rungs)
    bytes.push_back(static_cast<double>(each.plan->most_bytes()));
  return bytes;
}

}  // namespace

Ladder::Ladder(std::vector<double> bytes) : bytes_(std::move(bytes)), rung_(bytes_.size() - 1) {
  HS_CHECK(!bytes_.empty());
}

void Ladder::move_to(std::size_t rung) {
  busy_ *= bytes_[rung] / bytes_[rung_];
  rung_ = rung;
  calm_ = 0;
}

bool Ladder::add(double took) {
  if (!std::isfinite(took) || took < 0.0) return false;
  const bool is_last = rung_ + 1 == bytes_.size();  // elsewhere the link would be taken for waiting
  shortest_ = shortest_ == 0.0 ? took : std::min(took, shortest_ * (is_last ? kForget : 1.0));
  busy_ = 0.5 * (busy_ + (took - shortest_));
  since_step_up_ = std::min(since_step_up_ + 1, kMostCalm);
  const std::size_t before = rung_;
  while (busy_ > kMost && rung_ + 1 < bytes_.size()) move_to(rung_ + 1);
  if (rung_ != before) {
    if (since_step_up_ <= kTrial) patience_ = std::min(2 * patience_, kMostCalm);
    return true;
  }
  const bool could_step_up = rung_ > 0 && busy_ * bytes_[rung_ - 1] / bytes_[rung_] <= kLeast;
  calm_ = could_step_up ? calm_ + 1 : 0;
  if (calm_ < patience_) return false;
  move_to(rung_ - 1);
  since_step_up_ = 0;
  return true;
}

void Ladder::state(Archive& archive) {
  archive("rung", rung_)("shortest", shortest_)("busy", busy_)("calm", calm_);
  archive("patience", patience_)("since_step_up", since_step_up_);
  if (rung_ >= bytes_.size()) archive.fail("rung", "does not exist");
  const bool is_time = std::isfinite(busy_) && busy_ >= 0.0 && std::isfinite(shortest_);
  if (!is_time || shortest_ < 0.0) archive.fail("busy", "is out of range");
}

LadderCodec::LadderCodec(const std::vector<Rung>& rungs, kernels::PeerId self)
    : ChoiceCodec(rungs, self), bytes_(bytes_of(rungs)), ladder_(bytes_) {}

std::optional<CodecChange> LadderCodec::changed_from(std::size_t before) const {
  if (rung() == before) return std::nullopt;
  return change(before, rung());
}

std::optional<CodecChange> LadderCodec::adapt(double busy) {
  const std::size_t before = rung();
  ladder_.add(busy);
  return changed_from(before);
}

std::optional<CodecChange> LadderCodec::afford(double bytes) {
  const std::size_t before = rung();
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
