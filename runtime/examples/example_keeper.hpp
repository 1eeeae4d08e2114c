// SPDX-License-Identifier: Apache-2.0
// A peer's examples in the eyes of its trainer: which of them the next pass holds and with what
// weight, and the ledger that decides it. Fed with outputs of models; never computes any itself.
// Rows are places in the peer's shard. Invariant: a row that is not present is neither drawn nor
// judged. Lane: compute. Cost: O(rows) a pass and a round of looks, O(classes) an example trained
// on.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gossip/event.hpp"
#include "gossip/examples/example.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/examples/example_plan.hpp"

namespace hearsay::runtime {

class ExampleKeeper {
 public:
  struct Passed {  // of an example that may travel
    std::uint32_t hops = 0;
    std::array<gossip::Example::Opinion, 4> opinions{};
  };

  // `held_out`: rows that are never trained on.
  ExampleKeeper(std::shared_ptr<const ExamplePlan> plan, std::uint64_t seed, kernels::PeerId self,
                std::size_t rows, std::span<const std::uint32_t> held_out);

  const ExampleLedger& ledger() const noexcept { return ledger_; }
  std::span<const std::uint8_t> present() const noexcept { return present_; }
  TierCounts tiers() const { return count_tiers(present_, ledger_); }

  // Where examples change hands. A row that is set aside is not drawn, nor offered; one that is
  // free has no example; a guest is a copy, which is not passed on.
  bool is_trainable(std::size_t row) const { return present_[row] != 0 && aside_[row] == 0; }
  bool is_aside(std::size_t row) const { return aside_[row] != 0; }
  bool is_guest(std::size_t row) const { return guest_[row] != 0; }
  std::size_t trainable() const;
  std::vector<std::uint32_t> to_offer() const;
  void set_aside(std::size_t row, bool aside) { aside_[row] = aside ? 1 : 0; }
  void empty(std::size_t row);
  // A new example: in a free row, or in one more, which the caller then makes as well.
  std::size_t settle(const gossip::Example& example, bool guest);
  // Where the oldest guest is, once there are as many as may be.
  std::optional<std::size_t> guest_to_leave(std::size_t most) const;
  // What the own model makes of one before it is trained on it.
  void arrived(std::size_t row, const Look& look);
  // With --log-examples: rows that came and have been trained on since, once each; and what the own
  // model makes of them now. ids[i], looks[i] of rows[i].
  std::vector<std::uint32_t> to_tell_of() const;
  void learned(std::uint64_t passes, std::span<const std::uint32_t> rows,
               std::span<const std::uint32_t> ids, std::span<const Look> looks);
  double temperature() const noexcept { return temperature_; }
  const Passed& passed(std::size_t row) const { return passed_[row]; }
  // How sure the own model is of the label, as far as is known: 0.5 where nothing is.
  float confidence(std::size_t row) const;
  kernels::Rng& rng() { return rng_; }

  // At the end of a pass, of which `passes` have been: whether the own model is to look at all
  // examples now; and whether another peer's is, which has just come.
  bool wants_own_look(std::uint64_t passes) const;
  bool wants_look_of(kernels::PeerId model, std::uint64_t passes) const;
  // One round: looks[row] of all that are present, under one model. Moves examples between tiers.
  void judge(kernels::PeerId model, std::uint64_t passes, double temperature,
             std::span<const Look> looks, std::span<const std::uint8_t> labels);

  // Rows of the next pass, `least` or more, and no more than there were at first.
  std::vector<std::uint32_t> begin_pass(double progress, std::size_t least);
  // Of the loss of a row in this pass; empty: 1 each.
  std::span<const float> weights() const noexcept { return weights_; }
  // outputs[rows.size()][classes], as a mini-batch of these rows has given them.
  void trained(std::span<const std::uint32_t> rows, std::span<const std::uint8_t> labels,
               std::span<const float> outputs);

  // One line a round of looks, for the log; each once.
  std::vector<gossip::Event> take_events();

  void state(gossip::Archive& archive);

 private:
  struct Rounds {  // of one kind of look
    std::uint64_t done = 0, last_pass = 0;
    void state(gossip::Archive& a) { a("done", done)("last_pass", last_pass); }
  };
  struct Note {  // of one round, until the log takes it
    kernels::PeerId by;
    std::uint64_t epoch = 0;
    double confidence = 0.0, accuracy = 0.0, temperature = 1.0, alike = 0.0;
    bool counts = false;
    std::vector<std::uint64_t> tiers;
    void state(gossip::Archive& archive);
  };
  struct Lesson {  // examples that came, and confidence in them in thousandths; for the log
    std::uint64_t epoch = 0;
    std::vector<std::int64_t> ids, before, after;
    void state(gossip::Archive& a) {
      a("epoch", epoch)("ids", ids)("before", before)("after", after);
    }
  };
  void note(Note made, std::span<const Look> looks);
  void state_of_passed(gossip::Archive& archive);
  bool counts(kernels::PeerId model, std::span<const float> confidence, double& most_alike);

  std::shared_ptr<const ExamplePlan> plan_;
  ExampleLedger ledger_;
  std::vector<std::uint8_t> present_, aside_, guest_;
  std::vector<Passed> passed_;
  std::vector<std::uint32_t> free_;   // rows without an example, that had one
  std::deque<std::uint32_t> guests_;  // rows, the oldest first
  std::size_t most_rows_;             // of a pass
  std::vector<float> weights_;
  kernels::Rng rng_;
  std::uint64_t samples_ = 0;  // trained on so far
  double temperature_ = 1.0;   // of the own model when it last looked
  Rounds own_, others_;
  std::vector<Note> notes_;
  // Only with --log-examples.
  std::vector<float> before_;  // [row] confidence when it came; -1: has not come, or was told of
  std::vector<Lesson> lessons_;
};

}  // namespace hearsay::runtime
