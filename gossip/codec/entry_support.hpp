// SPDX-License-Identifier: Apache-2.0
// Supports whose messages name weights by their positions: any set of them, up to a bound that all
// peers of a pool know. Compute lane of one peer. Cost: that of the choice, O(entries + tiles).
#pragma once

#include "gossip/codec/support.hpp"

namespace hearsay::gossip {

class EntrySupport : public Support {
 public:
  PackedForm form() const final { return PackedForm::entries; }
  void choose(std::span<const float> weights, std::span<float> published, PackedBytes& where,
              std::vector<std::uint32_t>& at) final;
  std::string read(PackedReader& in, std::vector<std::uint32_t>& at) const final;
  std::size_t most_entries() const final { return most_; }
  std::size_t most_where_bytes() const final;

 protected:
  // `places` outlives this object.
  EntrySupport(const Places& places, std::size_t most) : places_(places), most_(most) {}

  const Places& places() const { return places_; }
  // Leaves in `at` the ascending offsets of at most most_entries() weights of large tensors.
  virtual void pick(std::span<const float> weights, std::span<float> published,
                    std::vector<std::uint32_t>& at) = 0;

 private:
  const Places& places_;
  std::size_t most_;
};

}  // namespace hearsay::gossip
