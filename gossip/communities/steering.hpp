// SPDX-License-Identifier: Apache-2.0
// Who trains in a like direction, found out by each peer for itself, and partners chosen
// accordingly. After every block a peer sketches what its own mini-batches have done to its weights
// (merges taken out), smooths that over blocks, scales it to length 1 and sends it along with its
// weights. From all sketches it has heard it makes communities (clustering/discover.hpp) every few
// merges, with labels that last, and weighs its neighbours by them (clustering/steering.hpp). A
// peer of which no sketch has come counts as one of its own. Where the communities are given
// beforehand nothing is sketched or sent. With a temperature partners are weighed by how far their
// directions were from the own one in the newest round, and communities are only told.
// Peers that have heard different things find different communities; nobody has to agree.
// Lane: compute, pure. Cost: a block: 12 B of traffic a weight for the sketch; a round: see
// clustering (about 20 ms for 16 peers, 1 s for 1,024). Memory: 4 B a sketch value,
// sketch_table.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "clustering/communities.hpp"
#include "clustering/discover.hpp"
#include "clustering/steering.hpp"
#include "gossip/communities/sketch_table.hpp"
#include "gossip/event.hpp"
#include "kernels/ops/sketch_ops.hpp"

namespace hearsay::gossip {

// --share and --cluster of a pool.
struct CommunityPlan {
  std::vector<std::uint32_t> given;  // [peer] label; empty: they are to be found
  kernels::SketchPlan sketch{.buckets = 1024};
  double memory = 0.97;  // share of the earlier directions in the smoothed one; 1: their sum
  clustering::Recipe recipe;
  std::uint32_t every = 2;  // own merges between two rounds
  clustering::Mixing mixing = clustering::Mixing::early;
  double outside = clustering::kLeastOutside;
  // Partners by exp(-distance / T) instead of by community; the distance is 1 - cosine, 0 to 2.
  std::optional<double> temperature;

  bool finds() const { return given.empty(); }
  std::uint32_t sketch_values() const {
    return finds() ? static_cast<std::uint32_t>(kernels::sketch_values(sketch)) : 0;
  }
};

class Steering {
 public:
  Steering(std::shared_ptr<const CommunityPlan> plan, kernels::PeerId self, std::uint32_t peers,
           std::uint32_t incarnation);

  bool finds() const { return plan_->finds(); }
  const kernels::SketchPlan& sketch_plan() const { return plan_->sketch; }
  bool knows(kernels::PeerId peer) const { return table_.knows(peer.value); }
  std::uint64_t age(kernels::PeerId peer, std::uint64_t clock) const {
    return table_.age(peer.value, clock);
  }
  bool knows_itself() const { return table_.knows(self_.value); }
  // What a block has done, sketched by sketch_plan(). Nothing that moved nothing, or is not finite.
  void add_block(std::span<const float> sketch);
  void learn(std::span<const Sketch> sketches, kernels::PeerId from, std::uint64_t clock);
  std::vector<Sketch> for_partner(kernels::PeerId partner);
  // At the start of a merge: looks for communities if that is due, and says what it found.
  std::vector<Event> look(std::uint64_t clock);
  // [peer] how gladly it is chosen, at this share of the run.
  std::vector<double> weights(double progress) const;
  // How alike the own direction and that of `peer` are, 0 to 1: (1 + cosine) / 2, both centred on
  // the mean of all that are known. None where one of the two is not known, or so few are that the
  // mean lies between them.
  std::optional<double> likeness(kernels::PeerId peer) const;
  // [peer] its community; peers that are not known are in the own one.
  std::vector<std::uint32_t> labels() const;

  void state(Archive& archive);

 private:
  void place_newcomers();
  void keep_row(const clustering::Distances& distances);
  std::vector<double> soft_weights(double progress) const;
  std::optional<Event> note_change();

  std::shared_ptr<const CommunityPlan> plan_;
  kernels::PeerId self_;
  std::uint32_t incarnation_;
  std::vector<float> direction_;  // smoothed; empty before the first block
  SketchTable table_;
  clustering::Communities communities_;
  std::vector<std::uint8_t> placed_;    // [peer] a round that counted has known it
  std::vector<std::uint32_t> members_;  // of the own community when last told
  std::uint32_t label_ = 0;             // of it, then
  std::uint64_t next_look_ = 0;         // clock of the next round
  double silhouette_ = 0.0;             // of the newest round
  std::vector<double>
      row_;  // [peer] distance to it in that round; kUnknown; empty before the first
};

}  // namespace hearsay::gossip
