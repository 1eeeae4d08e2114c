// SPDX-License-Identifier: Apache-2.0
// What the protocol may ask of its own peer's model, always between two mini-batches. The host
// implements it over the trainer's parameters, on whatever device they live. Compute lane.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gossip/event.hpp"
#include "gossip/examples/example_store.hpp"
#include "kernels/ops/merge_ops.hpp"
#include "kernels/ops/sketch_ops.hpp"
#include "merge/crowd.hpp"
#include "merge/snapshot.hpp"

namespace hearsay::gossip {

struct Probe {
  double loss = 0.0;         // mean cross-entropy on the peer's probe set
  double confidence = 0.0;   // mean probability of the true class
  std::size_t examples = 0;  // 0: the peer has no probe set
};

// A merge that is only tried: the arguments of LocalModel::blend().
struct Blend {
  double alpha;
  const merge::Snapshot& in;
  const merge::Snapshot* base;
};

class LocalModel {
 public:
  virtual ~LocalModel() = default;

  virtual std::size_t size() const = 0;       // values in the flat buffer
  virtual merge::SnapshotRef snapshot() = 0;  // 8 B per value
  // Displacement in - base, where a null base means the own weights.
  virtual kernels::MergeStats measure(const merge::Snapshot& in, const merge::Snapshot* base) = 0;
  virtual void blend(double alpha, const merge::Snapshot& in, const merge::Snapshot* base) = 0;
  // The weights become these, and training goes on as if `steps` mini-batches lay behind it, with
  // fresh optimiser state: how a late joiner begins.
  virtual void adopt(const merge::Snapshot& in, std::uint64_t steps) = 0;
  // The own weights when `other` is null. One forward pass over the probe set.
  virtual Probe probe(const merge::Snapshot* other) = 0;
  // Cross-entropy of each example of the probe set (none: the peer has no such set), with the own
  // weights or, where `tried` is given, with what they would be after that merge; changes nothing.
  // One forward pass.
  virtual std::vector<double> probe_losses(const Blend* tried) = 0;
  // The centre of these models and the own weights.
  virtual merge::SnapshotRef crowd_center(const merge::CrowdRule& rule,
                                          std::span<const merge::SnapshotRef> models) = 0;

  // Local displacement since begin_block(), merges taken out: || w_end - w_start - sum of merges
  // ||.
  virtual void begin_block() = 0;
  virtual double block_displacement() = 0;
  // A sketch of that displacement; empty where no block has begun.
  virtual std::vector<float> block_sketch(const kernels::SketchPlan& plan) = 0;

  // The model of another peer, which is about to be merged: a chance to see what it makes of the
  // own examples.
  virtual void heard(PeerId /*from*/, const merge::Snapshot& /*in*/) {}
  // What is known of the own examples since the last call, for the log.
  virtual std::vector<Event> take_events() { return {}; }

  // The learning rate is this times what it would be, from the next mini-batch on.
  virtual void set_lr_factor(double /*factor*/) {}

  // How unsure a model is of the own examples: the mean of 1 - confidence over some of them; null:
  // the own model. 1 where that cannot be told.
  virtual double doubt(const merge::Snapshot* /*model*/) { return 1.0; }
  // What the peer has to learn from, where examples are passed on; null elsewhere.
  virtual ExampleStore* examples() { return nullptr; }

  // Of the weights, for the log; empty where nobody keeps them (costs one pass).
  virtual std::string digest() { return {}; }

  // The gradient of the last TrainGradient step, for baselines that reduce gradients.
  virtual std::span<float> gradient() = 0;
  virtual merge::SnapshotRef copy(std::span<const float> values) = 0;
  // Of the model's size, for whoever fills it before sharing it; what it holds is anything.
  virtual std::shared_ptr<merge::Snapshot> blank() = 0;
};

}  // namespace hearsay::gossip
