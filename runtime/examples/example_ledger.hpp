// SPDX-License-Identifier: Apache-2.0
// What a peer knows of each of its examples, a row an example, a column a quantity. Two kinds of
// looks are kept apart: validation (the model was not trained on the example since it last moved
// because of it: on arrival, by another peer's model, or in a pass of its own) and training (free
// from the forward pass of a mini-batch, and optimistic). Invariant: all columns have rows()
// values. Lane: compute. Memory: 125 B a row. Cost of a look: O(1).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gossip/archive.hpp"
#include "runtime/examples/example_scores.hpp"
#include "runtime/examples/peer_set.hpp"

namespace hearsay::runtime {

enum class Tier : std::uint8_t { active, reserve, retired, quarantine };
inline constexpr std::size_t kTiers = 4;

class ExampleLedger {
 public:
  // Share of a new look in the moving averages.
  static constexpr float kNewest = 0.3f;
  // Models whose latest looks are kept to tell whether a further one sees anything new.
  static constexpr std::size_t kKeptLooks = 4;

  ExampleLedger(std::size_t rows, kernels::PeerId self, std::uint32_t peers);

  std::size_t rows() const noexcept { return evals.size(); }
  kernels::PeerId self() const noexcept { return self_; }
  std::uint32_t peers() const noexcept { return peers_; }

  void add_row();
  void forget_row(std::size_t row);  // as new: another example stands there now

  // Validation by the model of `model`. `counts`: it is unlike those that were counted before, so
  // that being right with `confident` probability is one model's more word for the example.
  struct Bounds {
    float confident = 0.95f;  // from here on a model knows the example
    float forgotten = 0.7f;   // below, it has forgotten it
  };
  void validated(std::size_t row, kernels::PeerId model, const Look& look, bool counts,
                 const Bounds& bounds);
  // A training look of the own model, at this count of own samples.
  void trained(std::size_t row, const Look& look, std::uint64_t samples);

  // Deviation of the confidence over validations; 0 before the second.
  float variability(std::size_t row) const;
  // How much lower the own loss is to become: the loss now, minus that of a model that never saw
  // the example (Mindermann et al. 2022, arXiv 2206.07137). 0 before both are known.
  float reducible_loss(std::size_t row) const;

  // Columns.
  std::vector<float> confidence, margin;    // moving averages over validations
  std::vector<float> mean, squares;         // of the confidence (Welford 1962)
  std::vector<float> train_confidence;      // moving average over training looks; -1: none
  std::vector<float> own_loss, other_loss;  // newest; -1: none yet
  std::vector<std::uint16_t> evals, correct, forgets;
  std::vector<std::uint16_t> since_forget;  // validations
  std::vector<std::uint8_t> last_right;
  std::vector<std::uint64_t> last_seen;  // own samples when it was last trained on
  std::vector<std::uint32_t> visits;     // mini-batches of this peer that held it
  std::vector<PeerSet> visitors;         // whose models were trained on it
  std::vector<PeerSet> judges;           // whose models have looked at it
  std::vector<PeerSet> agreed;           // that were confidently right when they last looked
  std::vector<Tier> tier;

  // Latest looks of up to kKeptLooks models, by which likeness is told.
  struct KeptLook {
    kernels::PeerId model;
    std::vector<float> confidence;  // [row]
  };
  std::vector<KeptLook> kept;

  void state(gossip::Archive& archive);

 private:
  template <typename Visit>
  void for_each_column(Visit&& visit);

  kernels::PeerId self_;
  std::uint32_t peers_;
};

// Correlation of what two models say of the examples that are present (Pearson); 0 where one says
// the same of all.
double likeness(std::span<const float> a, std::span<const float> b,
                std::span<const std::uint8_t> present);

}  // namespace hearsay::runtime
