// SPDX-License-Identifier: Apache-2.0
// Several codecs of which a peer speaks one at a time: messages say by their tag which, answers are
// in the codec of the question, so partners need not agree. What chooses is a class of its own.
// Compute lane of one peer. Cost: memory of all of them.
#pragma once

#include <vector>

#include "gossip/codec/codec.hpp"

namespace hearsay::gossip {

class ChoiceCodec : public Codec {
 public:
  struct Rung {
    std::uint32_t tag = 0;  // of its messages
    std::shared_ptr<const CodecPlan> plan;
  };

  // All of them mirror. `rungs` outlive the codec.
  ChoiceCodec(const std::vector<Rung>& rungs, kernels::PeerId self);

  merge::PackedRef encode(std::span<const float> weights, const merge::Packed* like) override;
  Unpacked decode(const merge::Packed& message, std::span<const float> base,
                  std::span<float> in) const final;
  bool mirrors() const final { return true; }
  void forget() final;
  void state(Archive& archive) override;
  const std::string* spoken() const override { return spoken_; }

 protected:
  virtual std::size_t rung() const = 0;  // to speak now
  std::size_t rungs() const { return rungs_.size(); }
  std::size_t spoken_rung() const { return spoken_rung_; }  // of the newest message
  const std::string& text_of(std::size_t rung) const { return rungs_[rung].plan->text(); }

 private:
  std::optional<std::size_t> rung_of(const merge::Packed& message) const;

  const std::vector<Rung>& rungs_;
  std::vector<std::unique_ptr<Codec>> codecs_;
  std::size_t spoken_rung_ = 0;
  const std::string* spoken_ = nullptr;
};

// What all codecs of a choice share.
class ChoicePlan : public CodecPlan {
 public:
  ChoicePlan(std::string text, std::vector<ChoiceCodec::Rung> rungs);
  const std::string& text() const final { return text_; }
  std::size_t most_bytes() const final { return most_bytes_; }

 protected:
  const std::vector<ChoiceCodec::Rung>& rungs() const { return rungs_; }

 private:
  std::string text_;
  std::vector<ChoiceCodec::Rung> rungs_;
  std::size_t most_bytes_ = 0;
};

}  // namespace hearsay::gossip
