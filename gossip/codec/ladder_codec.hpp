// SPDX-License-Identifier: Apache-2.0
// Codecs in a row, from every bit to few of some weights, and the one to speak by how busy
// exchanges keep a peer: `--codec auto`. On a fast link weights travel whole, since a codec would
// cost more time than it saves; on a slow one ever less of them does, so that merges are not
// missed. Answers are in the codec of the question, so partners need not agree. Compute lane of one
// peer. Cost: memory of all rungs.
#pragma once

#include <vector>

#include "gossip/codec/codec.hpp"

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

class LadderCodec final : public Codec {
 public:
  struct Rung {
    std::uint32_t tag = 0;  // of its messages
    std::shared_ptr<const CodecPlan> plan;
  };

  LadderCodec(const std::vector<Rung>& rungs, kernels::PeerId self);

  merge::PackedRef encode(std::span<const float> weights, const merge::Packed* like) override;
  Unpacked decode(const merge::Packed& message, std::span<const float> base,
                  std::span<float> in) const override;
  bool mirrors() const override { return true; }  // so do all rungs
  void forget() override;
  void state(Archive& archive) override;
  const std::string* spoken() const override { return spoken_; }
  std::optional<CodecChange> adapt(double busy) override;

 private:
  std::optional<std::size_t> rung_of(const merge::Packed& message) const;

  const std::vector<Rung>& rungs_;  // of the plan
  std::vector<std::unique_ptr<Codec>> codecs_;
  Ladder ladder_;
  const std::string* spoken_ = nullptr;
};

}  // namespace hearsay::gossip
