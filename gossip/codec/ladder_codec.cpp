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

Ladder::Ladder(std::vector<double> bytes)
    : bytes_(std::move(bytes)), rung_(std::min(kFirst, bytes_.size() - 1)) {
  HS_CHECK(!bytes_.empty());
}

void Ladder::move_to(std::size_t rung) {
  busy_ *= bytes_[rung] / bytes_[rung_];
  rung_ = rung;
  calm_ = 0;
}

bool Ladder::add(double busy) {
  if (!std::isfinite(busy) || busy < 0.0) return false;
  busy_ = is_known_ ? 0.5 * (busy_ + busy) : busy;
  is_known_ = true;
  const std::size_t before = rung_;
  while (busy_ > kMost && rung_ + 1 < bytes_.size()) move_to(rung_ + 1);
  if (rung_ != before) return true;
  const bool could_step_back = rung_ > 0 && busy_ * bytes_[rung_ - 1] / bytes_[rung_] <= kLeast;
  calm_ = could_step_back ? calm_ + 1 : 0;
  if (calm_ < kCalm) return false;
  move_to(rung_ - 1);
  return true;
}

void Ladder::state(Archive& archive) {
  archive("rung", rung_)("busy", busy_)("is_known", is_known_)("calm", calm_);
  if (rung_ >= bytes_.size()) archive.fail("rung", "does not exist");
  if (!(std::isfinite(busy_) && busy_ >= 0.0)) archive.fail("busy", "is out of range");
}

LadderCodec::LadderCodec(const std::vector<Rung>& rungs, kernels::PeerId self)
    : ChoiceCodec(rungs, self), ladder_(bytes_of(rungs)) {}

std::optional<CodecChange> LadderCodec::adapt(double busy) {
  const std::size_t before = ladder_.rung();
  if (!ladder_.add(busy)) return std::nullopt;
  return change(before, ladder_.rung());
}

void LadderCodec::state(Archive& archive) {
  archive("ladder", ladder_);
  ChoiceCodec::state(archive);
}

}  // namespace hearsay::gossip
