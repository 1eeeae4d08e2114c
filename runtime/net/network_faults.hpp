// SPDX-License-Identifier: Apache-2.0
// What --chaos does to the frames of a live pool: some are lost, some get a wrong byte on the way
// (their connection then ends, as their receiver cannot trust what follows), and some peers are cut
// off from all others. The whole state at once, so that a peer that is started again is told in one
// message. Plain data.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/core/strong_id.hpp"

namespace hearsay::runtime {

struct NetworkFaults {
  double drop = 0.0, corrupt = 0.0;     // shares of all frames, 0 .. 1
  std::vector<kernels::PeerId> parted;  // everything from and to them is lost

  bool any() const { return drop > 0.0 || corrupt > 0.0 || !parted.empty(); }
  bool parts(kernels::PeerId a, kernels::PeerId b) const {
    const auto is_cut = [&](kernels::PeerId peer) {
      return std::find(parted.begin(), parted.end(), peer) != parted.end();
    };
    return is_cut(a) || is_cut(b);
  }
  friend bool operator==(const NetworkFaults&, const NetworkFaults&) = default;
};

}  // namespace hearsay::runtime
