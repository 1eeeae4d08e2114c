// SPDX-License-Identifier: Apache-2.0
// What the protocol may ask of its own peer's examples, always between two mini-batches. The host
// implements it over the trainer's shard. Invariant: an example that is set aside is neither
// trained on nor offered to anybody else; one that was taken belongs to this peer at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gossip/examples/example.hpp"

namespace hearsay::gossip {

using kernels::PeerId;

class ExampleStore {
 public:
  virtual ~ExampleStore() = default;

  virtual const ExampleShape& shape() const = 0;
  // At most `most` examples for this partner, whose model the store has heard last; they are set
  // aside unless `copies` are what it gets. `alike`: 0 to 1, none where it is not known.
  virtual std::vector<Example> choose(PeerId to, std::optional<double> alike, std::size_t most,
                                      bool copies) = 0;
  // Becomes their owner (of copies: a guest's host). Bit i: the i-th is taken; one that this peer
  // has already is not.
  virtual std::uint64_t take(PeerId from, const std::vector<Example>& examples, bool copies) = 0;
  // What was offered under these ids: bit i set, the i-th has another owner now and goes; else it
  // is this peer's as before.
  virtual void settle(std::span<const std::uint32_t> ids, std::uint64_t taken) = 0;
};

}  // namespace hearsay::gossip
