// SPDX-License-Identifier: Apache-2.0
#include "gossip/loss_watch.hpp"

#include <cstdio>
#include <string>
#include <utility>

#include "gossip/packing.hpp"

namespace hearsay::gossip {
namespace {

void go_back(double loss, PeerState& peer, Turn& turn) {
  turn.model.adopt(*peer.good_weights, peer.counters.steps);
  turn.model.begin_block();  // what the block has done counts from here
  if (peer.outer) peer.outer->begin(turn.model);
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", loss);
  turn.record(fault_event("loss jumps", peer.settings.self,
                          "to " + std::string(text) + " on the probe set after merge " +
                              std::to_string(peer.counters.merges_applied),
                          "takes up its weights after the last good merge"));
}

}  // namespace

void watch_loss(PeerState& peer, Turn& turn) {
  if (!peer.codec || !peer.codec->minds_loss()) return;
  const Probe probe = turn.model.probe(nullptr);
  if (probe.examples == 0) return;
  const LossNews news = peer.codec->learned(probe.loss);
  if (news.change) record_change(*news.change, turn);
  if (!news.has_diverged) {
    peer.good_weights = turn.model.snapshot();
  } else if (peer.good_weights) {
    go_back(probe.loss, peer, turn);
  }
}

}  // namespace hearsay::gossip
