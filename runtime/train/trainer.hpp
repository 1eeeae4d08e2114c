// SPDX-License-Identifier: Apache-2.0
// A peer's local training, one mini-batch at a time. NnTrainer is ours; an embedder's own loop is
// another. The gossip side sees a flat span of weights and cannot tell them apart. Owned by the
// compute lane: one call at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/local_model.hpp"
#include "gossip/protocol.hpp"

namespace hearsay::runtime {

class Trainer {
 public:
  virtual ~Trainer() = default;

  // `worker` names the thread that calls, 0 .. threads - 1: scratch memory belongs to threads, not
  // to peers.
  virtual gossip::StepReport train(std::size_t worker) = 0;           // one mini-batch with update
  virtual gossip::StepReport train_gradient(std::size_t worker) = 0;  // gradient() only
  virtual void apply_gradient(float scale) = 0;  // update with scale * gradient()

  // To be read and changed; where the numbers are elsewhere they are brought here and, before the
  // next mini-batch, back. A span is good until the next call of train() or weights().
  virtual std::span<float> weights() = 0;
  virtual std::span<const float> read_weights() { return weights(); }  // not to be changed
  virtual std::span<float> gradient() = 0;
  // Loss and confidence of `weights` on the peer's probe set, examples the peer does not train on.
  virtual gossip::Probe probe(std::span<const float> weights, std::size_t worker) = 0;
  // Mean of 1 - confidence of `weights` over some of the examples that it trains on.
  virtual double doubt(std::span<const float> /*weights*/, std::size_t /*worker*/) { return 1.0; }
  // One loss an example of the probe set, in its order; none without a probe set.
  virtual std::vector<double> probe_losses(std::span<const float>, std::size_t /*worker*/) {
    return {};
  }
  // Another peer's model has come and will be merged: a chance to see what it makes of the own
  // examples. Only where it wants them, as they may have to be fetched from a device.
  virtual bool wants_models() const { return false; }
  virtual void heard(kernels::PeerId /*from*/, std::span<const float> /*weights*/,
                     std::size_t /*worker*/) {}
  virtual std::vector<gossip::Event> take_events() { return {}; }  // for the log, each once
  // The examples, where they may change hands; null elsewhere.
  virtual gossip::ExampleStore* example_store(std::size_t /*worker*/) { return nullptr; }
  // Of the learning rate, from the next mini-batch on; kept by state().
  virtual void set_lr_factor(double) {}
  // Learns class c as classes - 1 - c from now on, or no more: a peer with bad data, for tests.
  virtual void flip_labels(bool) {}
  virtual std::uint64_t examples() const = 0;  // that it trains on
  virtual std::uint64_t steps_per_epoch() const = 0;

  // To go on later: position in the data, schedule, counts. Not the weights and not moments().
  virtual void state(gossip::Archive& archive) = 0;
  // Optimiser state of the size of the weights, by name: "momentum", "first", "second".
  virtual std::vector<std::pair<std::string_view, std::span<float>>> moments() = 0;
  // From the state of a trainer with other examples: what does not depend on them.
  virtual void take_optimizer(gossip::Archive& archive) = 0;
  // As if `steps` mini-batches had been done, with fresh optimiser state.
  virtual void skip_to(std::uint64_t steps) = 0;
};

}  // namespace hearsay::runtime
