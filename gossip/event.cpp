// SPDX-License-Identifier: Apache-2.0
#include "gossip/event.hpp"

#include <cstdio>

namespace hearsay::gossip {

std::string peer_name(PeerId id) {
  char text[16];
  std::snprintf(text, sizeof text, "p%02u", id.value);
  return text;
}

}  // namespace hearsay::gossip
