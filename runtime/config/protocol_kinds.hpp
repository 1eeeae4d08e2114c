// SPDX-License-Identifier: Apache-2.0
// What the name of a protocol says of it, for whoever has only the text of --protocol. Pure.
#pragma once

#include <string_view>

namespace hearsay::runtime {

inline std::string_view protocol_name(std::string_view text) {
  return text.substr(0, text.find_first_of(":,=+"));
}

// All peers average everything at once, and none can be missing; no graph of merges.
inline bool is_synchronous(std::string_view text) {
  const std::string_view name = protocol_name(text);
  return name == "ddp" || name == "diloco";
}

// To compare gossip with: it merges no models of single partners.
inline bool is_baseline(std::string_view text) {
  return is_synchronous(text) || protocol_name(text) == "local";
}

}  // namespace hearsay::runtime
