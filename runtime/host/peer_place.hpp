// SPDX-License-Identifier: Apache-2.0
// What a peer is told before it begins, by whoever starts it: in which start it is, whether the
// others train already, who is there, and where they listen. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/net/join_text.hpp"

namespace hearsay::runtime {

struct PeerPlace {
  std::uint64_t incarnation = 0;  // rises with every start of the same peer
  bool late = false;              // the others train already: begins with the weights of one
  std::vector<bool> at_start;     // [peer] who is there when the pool begins; empty = all
  std::vector<BookEntry> book;    // the others' addresses, as far as known
  std::string session;            // of the job that it belongs to; empty where nobody asks
  std::string pool;               // name of the run for its peers; empty: that of the folder
  Admission admission;            // for those who join by hand; empty: nobody does
};

}  // namespace hearsay::runtime
