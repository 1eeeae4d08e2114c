// SPDX-License-Identifier: Apache-2.0
// From specs to objects: the one place where the words of --protocol, --topology, --merge,
// --merge-every, --model and
// --schedule get their meaning. Used by every host. All functions throw UsageError on names, keys
// or values they do not know.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "gossip/blocks.hpp"
#include "gossip/codec/codec.hpp"
#include "gossip/communities/steering.hpp"
#include "gossip/outer/outer_optimizer.hpp"
#include "gossip/peer_state.hpp"
#include "gossip/protocol.hpp"
#include "gossip/topology/topology.hpp"
#include "kernels/nn/network.hpp"
#include "merge/policy.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/examples/example_plan.hpp"
#include "runtime/host/peer_place.hpp"
#include "runtime/train/nn_context.hpp"
#include "runtime/train/schedule.hpp"

namespace hearsay::runtime {

// `neighbours` bounds how many models a rule can wait for; 0 in a pool of one.
std::shared_ptr<const merge::Policy> build_policy(const Spec& merge, std::uint32_t neighbours);
std::shared_ptr<const gossip::Topology> build_topology(const Spec& topology, std::uint32_t peers,
                                                       std::uint64_t seed);
gossip::BlockPlan build_block_plan(const Spec& merge_every);  // lambda and mode only
// For images such as these; their pixels do not matter.
kernels::Network build_model(const Spec& model, const ImageSet& images);
// The network with its inputs as bytes of the training set, and a workspace a worker.
std::unique_ptr<NnContext> build_context(const Spec& model, const ImageSet& train,
                                         std::size_t workers, std::size_t max_batch);
ScheduleKind build_schedule(const Spec& schedule);
std::uint32_t end_game_rounds(const Spec& end_game);  // 0 = off

// Of a shard, kept out of training where peers judge models by their own examples.
inline constexpr double kProbeShare = 0.1;

// What all peers of a pool share.
struct PoolPlan {
  double probe_share() const {
    if (needs_probe) return kProbeShare;
    return examples && examples->looks ? kCalibrationShare : 0.0;
  }

  std::shared_ptr<const gossip::Topology> topology;
  std::shared_ptr<const merge::Policy> policy;
  // Null: weights as they are. Put here by whoever has the network: build_codec.hpp.
  std::shared_ptr<const gossip::CodecPlan> codec;
  std::shared_ptr<const gossip::CommunityPlan> communities;  // null: all are alike
  std::optional<gossip::OuterSettings> outer;                // none: merges move the weights
  double choco_gamma = 0.0;                                  // --protocol choco
  std::optional<gossip::TradePlan> trade;                    // none: models stay where they are
  std::optional<gossip::TunePlan> tune;                      // none: settings stay as they are
  std::shared_ptr<const ExamplePlan> examples;               // null: all examples count alike
  gossip::BlockPlan blocks;
  std::uint32_t end_game = 0;
  bool gossips = false;      // merges weights (not a baseline)
  bool needs_probe = false;  // peers keep examples out of training to judge models
  bool equal_steps = false;  // all peers train as many mini-batches as the largest shard needs
};
PoolPlan build_pool_plan(const RunConfig& config);

std::unique_ptr<gossip::Protocol> build_protocol(const RunConfig& config, const PoolPlan& plan,
                                                 kernels::PeerId self,
                                                 std::uint64_t steps_per_epoch,
                                                 const PeerPlace& place = {});

}  // namespace hearsay::runtime
