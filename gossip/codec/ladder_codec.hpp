// SPDX-License-Identifier: Apache-2.0
// From whole weights to few bits of some, in a row, and the one to speak by how busy
// exchanges keep a peer: `--codec auto`. On a fast link weights travel whole, since a codec would
// cost more time than it saves; on a slow one ever less of them does, so that merges are not
// missed. Answers are in the codec of the question, so partners need not agree. Compute lane of one
// peer. Cost: memory of all rungs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gossip/codec/choice_codec.hpp"

namespace hearsay::gossip {

// Which rung, by how long exchanges take: pure arithmetic. An exchange also waits for the partner
// to reach the end of a mini-batch and, on a busy machine, for a core, which no codec changes. What
// the shortest one ever took counts as that, and what the shortest of kWindow took beyond it as the
// link's. A ladder begins with the fewest bytes and tries more after every exchange, two rungs on
// at once while they are quick, until one takes too long; it then steps back, and after each
// attempt in vain waits twice as long with the next.
class Ladder {
 public:
  static constexpr double kMost = 1.5;    // times between merges for the link; else steps back
  static constexpr double kFar = 8.0;     // beyond this one exchange is enough to say so
  static constexpr double kQuick = 4.0;   // up to this, waiting counted in, it rises by two at once
  static constexpr unsigned kWindow = 3;  // exchanges that are looked at together
  static constexpr unsigned kTrial = 2 * kWindow;  // after a step up in which it may be in vain
  static constexpr std::uint64_t kMostCalm = 96;
  static constexpr double kForget = 1.02;  // growth of the shortest an exchange with fewest bytes

  explicit Ladder(std::vector<double> bytes);  // [rung] of a message, falling

  // An exchange took this share of the time between merges. True when the rung has changed.
  bool add(double took);
  std::size_t rung() const { return rung_; }
  void state(Archive& archive);

 private:
  void move_to(std::size_t rung);

  std::vector<double> bytes_;
  std::size_t rung_;
  double shortest_ = -1.0;  // that was taken; negative: none yet
  double shortest_of_window_ = 0.0;
  unsigned seen_ = 0;                                   // exchanges of the window
  std::uint64_t calm_ = 0, since_step_up_ = kMostCalm;  // exchanges since the last change, and such
  std::uint64_t patience_ = kWindow;
  bool is_rising_ = true;  // no step up has been in vain yet
};

// The first level is no codec: weights travel as they are, and are neither written down nor read.
// Below it, level i is rung i - 1 of the choice.
class LadderCodec final : public ChoiceCodec {
 public:
  LadderCodec(const std::vector<Rung>& coded, double raw_bytes, kernels::PeerId self);
  merge::PackedRef encode(std::span<const float> weights, const merge::Packed* like) override;
  std::optional<CodecChange> adapt(double busy) override;
  // The first level whose messages have no more bytes, or the last: none with more is spoken.
  std::optional<CodecChange> afford(double bytes) override;
  const std::string* spoken() const override;
  void state(Archive& archive) override;

 private:
  std::size_t level() const { return std::max(ladder_.rung(), first_); }
  std::size_t rung() const override { return std::max<std::size_t>(level(), 1) - 1; }
  std::optional<CodecChange> changed_from(std::size_t before) const;

  std::vector<double> bytes_;  // [level] of a message
  std::size_t first_ = 0;      // level that the bandwidth is enough for
  bool said_raw_ = false;      // in the newest message
  Ladder ladder_;
};

class LadderPlan final : public ChoicePlan {
 public:
  LadderPlan(std::string text, std::vector<ChoiceCodec::Rung> coded, std::size_t weights)
      : ChoicePlan(std::move(text), std::move(coded)), raw_bytes_(sizeof(float) * weights) {}
  std::unique_ptr<Codec> make(kernels::PeerId self) const override {
    return std::make_unique<LadderCodec>(rungs(), static_cast<double>(raw_bytes_), self);
  }
  bool also_raw() const override { return true; }

 private:
  std::size_t raw_bytes_;
};

}  // namespace hearsay::gossip
