// SPDX-License-Identifier: Apache-2.0
// Codecs in a row, from every bit to few of some weights, and the one to speak by how busy
// exchanges keep a peer: `--codec auto`. On a fast link weights travel whole, since a codec would
// cost more time than it saves; on a slow one ever less of them does, so that merges are not
// missed. Answers are in the codec of the question, so partners need not agree. Compute lane of one
// peer. Cost: memory of all rungs.
#pragma once

#include <vector>

#include "gossip/codec/choice_codec.hpp"

namespace hearsay::gossip {

// Which rung, by how busy: pure arithmetic.
class Ladder {
 public:
  static constexpr std::size_t kFirst = 2;  // or the last: in the middle, as the link is not known
  static constexpr double kMost = 0.5;      // busier goes on to fewer bytes
  static constexpr double kLeast = 0.25;    // as busy after a step back, or less: steps back
  static constexpr unsigned kCalm = 3;      // exchanges that must say so, one after the other

  explicit Ladder(std::vector<double> bytes);  // [rung] of a message, falling

  // An exchange took this share of the time between merges. True when the rung has changed.
  bool add(double busy);
  std::size_t rung() const { return rung_; }
  void state(Archive& archive);

 private:
  void move_to(std::size_t rung);

  std::vector<double> bytes_;
  std::size_t rung_;
  double busy_ = 0.0;  // smoothed, in terms of this rung's bytes
  bool is_known_ = false;
  unsigned calm_ = 0;
};

class LadderCodec final : public ChoiceCodec {
 public:
  LadderCodec(const std::vector<Rung>& rungs, kernels::PeerId self);
  std::optional<CodecChange> adapt(double busy) override;
  void state(Archive& archive) override;

 private:
  std::size_t rung() const override { return ladder_.rung(); }

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
