// SPDX-License-Identifier: Apache-2.0
#include "gossip/event.hpp"

#include <cstdio>

namespace hearsay::gossip {

std::string peer_name(PeerId id) {
  char text[16];
  std::snprintf(text, sizeof text, "p%02u", id.value);
  return text;
}

Event joined_event(std::uint32_t incarnation, std::string_view reason, std::uint64_t step,
                   std::uint64_t steps) {
  Event joined("peer.joined");
  joined.add("inc", std::int64_t{incarnation}).add("reason", std::string(reason));
  joined.add("step", static_cast<std::int64_t>(step))
      .add("steps", static_cast<std::int64_t>(steps));
  return joined;
}

Event fault_event(std::string_view kind, PeerId who, std::string detail, std::string_view action) {
  Event event("fault.seen");
  event.add("kind", std::string(kind)).add("who", peer_name(who)).add("detail", std::move(detail));
  return std::move(event.add("action", std::string(action)));
}

}  // namespace hearsay::gossip
