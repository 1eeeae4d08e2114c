// SPDX-License-Identifier: Apache-2.0
// Which weights of the large tensors a sparse message speaks of: how a peer chooses them, how a
// message names them, how that is read. Numbers are those of Places. Compute lane of one peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gossip/archive.hpp"
#include "gossip/codec/message.hpp"
#include "gossip/codec/places.hpp"

namespace hearsay::gossip {

class Support {
 public:
  virtual ~Support() = default;

  // What a message names them by; never `all` or `same`.
  virtual PackedForm form() const = 0;

  // Chooses by what the weights are and what was published of them. Appends to `where` what names
  // the choice, and leaves in `at` its ascending numbers. Where an entry is chosen by its size,
  // `published` may be brought up to date; weights of small tensors must be published then.
  virtual void choose(std::span<const float> weights, std::span<float> published,
                      PackedBytes& where, std::vector<std::uint32_t>& at) = 0;

  // Reads what `choose` appended; why it is refused, or empty. Nothing is trusted.
  virtual std::string read(PackedReader& in, std::vector<std::uint32_t>& at) const = 0;

  virtual std::size_t most_entries() const = 0;
  virtual std::size_t most_where_bytes() const = 0;
  // Another share from here on, where a message says how many weights it names.
  virtual void keep(double /*share*/) {}
  virtual void forget() {}
  virtual void state(Archive& archive) = 0;
};

// How many of n weights (blocks) a share of them is: to nearest, at least one of any.
std::size_t share_of(double share, std::size_t n);

}  // namespace hearsay::gossip
