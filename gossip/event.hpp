// SPDX-License-Identifier: Apache-2.0
// Vocabulary of the event log: a noun.verb name and its fields in a fixed order. The core only
// describes events; time, peer and line number are added by whoever writes them. Cost: one small
// vector per event, none per mini-batch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/core/strong_id.hpp"

namespace hearsay::gossip {

using kernels::PeerId;

std::string peer_name(PeerId id);  // "p03"

using FieldValue =
    std::variant<std::int64_t, std::uint64_t, double, bool, std::string, std::vector<std::int64_t>>;

struct Field {
  std::string_view key;  // a literal
  FieldValue value;
};

struct Event {
  std::string_view name;  // a literal: "merge.applied"
  std::vector<Field> fields;

  explicit Event(std::string_view event_name) : name(event_name) {}
  Event& add(std::string_view key, FieldValue value) {
    fields.push_back({key, std::move(value)});
    return *this;
  }
};

// A peer begins, or goes on, at mini-batch `step` of `steps`.
Event joined_event(std::uint32_t incarnation, std::string_view reason, std::uint64_t step,
                   std::uint64_t steps);

// One line per change of state: what kind, about whom, in words, and what follows from it.
Event fault_event(std::string_view kind, PeerId who, std::string detail, std::string_view action);

}  // namespace hearsay::gossip
