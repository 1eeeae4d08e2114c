// SPDX-License-Identifier: Apache-2.0
// Codecs in a row, from every bit to few of some weights, and the one to speak by how busy
// exchanges keep a peer: `--codec auto`. On a fast link weights travel whole, since a codec would
// cost more time than it saves; on a slow one ever less of them does, so that merges are not
// missed. Answers are in the codec of the question, so partners need not agree. Compute lane of one
// peer. Cost: memory of all rungs.
#pragma once

#include <algorithm>
#include <vector>

#include "gossip/codec/choice_codec.hpp"

namespace hearsay::gossip {

// Which rung, by how long exchanges take: pure arithmetic. An exchange also waits for the partner
// to reach the end of a mini-batch, which no codec changes; what the shortest ones took counts as
// that, and the rest as the link's. So a ladder begins with the fewest bytes, tries more, and steps
// back where they take too long; after each attempt in vain it waits twice as long with the next
// one.
class Ladder {
 public:
  static constexpr double kMost = 0.5;    // of the time between merges; more goes on to fewer bytes
  static constexpr double kLeast = 0.25;  // as much after a step up, or less: tries more bytes
  static constexpr unsigned kCalm = 1;    // exchanges that must say so first, one after the other
  static constexpr unsigned kTrial = 3;   // exchanges after a step up in which it may be in vain
  static constexpr unsigned kMostCalm = 96;
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
  double shortest_ = 0.0;  // that was taken; 0: none yet
  double busy_ = 0.0;      // beyond the shortest, smoothed, in terms of this rung's bytes
  unsigned calm_ = 0;
  unsigned patience_ = kCalm;
  unsigned since_step_up_ = kMostCalm;  // exchanges
};

class LadderCodec final : public ChoiceCodec {
 public:
  LadderCodec(const std::vector<Rung>& rungs, kernels::PeerId self);
  std::optional<CodecChange> adapt(double busy) override;
  // The first rung whose messages have no more bytes, or the last: none with more is spoken.
  std::optional<CodecChange> afford(double bytes) override;
  void state(Archive& archive) override;

 private:
  std::size_t rung() const override { return std::max(ladder_.rung(), first_); }
  std::optional<CodecChange> changed_from(std::size_t before) const;

  std::vector<double> bytes_;  // [rung] of a message
  std::size_t first_ = 0;      // rung that the bandwidth is enough for
  Ladder ladder_;
};

class LadderPlan final : public ChoicePlan {
 public:
  using ChoicePlan::ChoicePlan;
  std::unique_ptr<Codec> make(kernels::PeerId self) const override {
    return std::make_unique<LadderCodec>(rungs(), self);
  }
};

}  // namespace hearsay::gossip
