// SPDX-License-Identifier: Apache-2.0
// The weights that differ most from what was published of them (kernels/ops/select_ops.hpp), named
// by their positions. Exact: the k largest, found anew each time. By threshold: all above one that
// follows the target share from message to message (log threshold += gain * log(count / k)), at
// most twice the target; one pass instead of a search. Beyond twice the target those of the lowest
// positions are said, and the next message takes a fresh sample. Lane: compute.
// Cost: one pass over weights and published, 12 B an entry of memory.
#pragma once

#include "gossip/codec/support.hpp"

namespace hearsay::gossip {

class LargestSupport final : public Support {
 public:
  enum class Kind { exact, threshold };
  // `places` outlives this object.
  LargestSupport(Kind kind, double share, const Places& places);

  PackedForm form() const override { return PackedForm::entries; }
  void choose(std::span<const float> weights, std::span<float> published, PackedBytes& where,
              std::vector<std::uint32_t>& at) override;
  std::string read(PackedReader& in, std::vector<std::uint32_t>& at) const override;
  std::size_t most_entries() const override { return most_; }
  std::size_t most_where_bytes() const override;
  void forget() override { threshold_ = 0.0f; }
  void state(Archive& archive) override;

 private:
  std::size_t above_threshold(std::span<const float> weights, std::span<float> published);

  Kind kind_;
  const Places& places_;
  std::size_t target_, most_;         // entries
  float threshold_ = 0.0f;            // of the next message; 0: take a sample
  std::vector<std::uint32_t> index_;  // work space: of a selection
  std::vector<float> value_;
  std::vector<std::uint64_t> tile_begin_;
};

}  // namespace hearsay::gossip
