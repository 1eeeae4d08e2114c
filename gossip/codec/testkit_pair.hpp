// SPDX-License-Identifier: Apache-2.0
// For tests of codecs that follow how things go: two peers of a layered model, moved from its start
// each in its own way.
#pragma once

#include <memory>
#include <vector>

#include "gossip/codec/testkit.hpp"

namespace hearsay::gossip::testkit {

struct TwoPeers {
  TwoPeers(const CodecSettings& settings, double moved)
      : layout(layered()),
        start(normals(layout.size(), 0.05, 1)),
        plan(make_codec_plan(settings, layout, start, 3)),
        first(plan->make(PeerId(0))),
        second(plan->make(PeerId(1))),
        of_first(start),
        of_second(start) {
    drift(of_first, moved, 2);
    drift(of_second, moved, 3);
  }
  std::size_t size() const { return start.size(); }

  kernels::Layout layout;
  std::vector<float> start;
  std::shared_ptr<const CodecPlan> plan;
  std::unique_ptr<Codec> first, second;
  std::vector<float> of_first, of_second;  // weights
};

}  // namespace hearsay::gossip::testkit
