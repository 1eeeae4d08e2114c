// SPDX-License-Identifier: Apache-2.0
// Who sends what must not be merged: values that are not finite, norms that explode, weights that
// were sent before; or lists of examples that cannot be read. Three of a kind in a row and the
// sender is ignored for a while: neither measured nor chosen. A good one of the kind ends its row;
// the total stays.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "gossip/archive.hpp"
#include "gossip/limits.hpp"
#include "kernels/core/strong_id.hpp"

namespace hearsay::gossip {

enum class Misdeed : std::uint8_t { weights, examples };

class Strikes {
 public:
  // `turn`: merges of this peer that were due so far, its clock for the cool-down. True when this
  // one was the third.
  bool add(kernels::PeerId from, std::uint64_t turn, Misdeed kind = Misdeed::weights) {
    Entry& entry = entries_[from];
    ++entry.total;
    std::uint32_t& row = entry.rows[static_cast<std::size_t>(kind)];
    if (++row < limits::kStrikes) return false;
    row = 0;
    entry.ignored_until = turn + limits::kCoolDownMerges;
    return true;
  }
  void clear(kernels::PeerId from, Misdeed kind = Misdeed::weights) {
    const auto found = entries_.find(from);
    if (found != entries_.end()) found->second.rows[static_cast<std::size_t>(kind)] = 0;
  }
  bool ignores(kernels::PeerId from, std::uint64_t turn) const {
    const auto found = entries_.find(from);
    return found != entries_.end() && turn < found->second.ignored_until;
  }
  std::size_t ignored(std::uint64_t turn) const {
    std::size_t count = 0;
    for (const auto& [from, entry] : entries_) count += turn < entry.ignored_until ? 1 : 0;
    return count;
  }
  std::uint64_t total(kernels::PeerId from) const {
    const auto found = entries_.find(from);
    return found == entries_.end() ? 0 : found->second.total;
  }
  void state(Archive& a) { a("entries", entries_); }

 private:
  struct Entry {
    std::array<std::uint32_t, 2> rows{};  // [Misdeed]
    std::uint64_t total = 0, ignored_until = 0;
    void state(Archive& a) {
      a("row", rows[0])("total", total)("ignored_until", ignored_until);
      // Of examples: not in a state of an earlier hearsay.
      if (!a.loading() || a.has("examples_row")) a("examples_row", rows[1]);
    }
  };
  std::map<kernels::PeerId, Entry> entries_;  // few
};

}  // namespace hearsay::gossip
