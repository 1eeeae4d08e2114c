// SPDX-License-Identifier: Apache-2.0
// Which examples a peer offers to a partner: one rule each of --share hard. A partner whose model
// was trained on an example before gets it half as gladly. Pure. Cost: O(rows log rows).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/rng.hpp"
#include "runtime/examples/example_ledger.hpp"

namespace hearsay::runtime {

struct PassingPlan {
  enum class By : std::uint8_t {
    sender,    // what the own model is least sure of
    receiver,  // what the partner's model is least sure of
    random,    // any
    classes,   // as many of each class, any of them
    novel,     // any the partner has not had
    signed_,  // of unlike partners what is hard, of like ones what is easy (or the other way round)
    rho,      // what the partner's model has still to learn and the own one knows
  } by = By::sender;
  std::uint32_t most = 64;
  bool copies = false;
  double gain = 1.0;  // signed: exponent at full likeness or unlikeness
  int sign = 1;       // signed: +1 hard examples to unlike partners, -1 easy ones, 0 control

  bool asks_receiver() const { return by == By::receiver || by == By::rho; }
};
// The word of the rule, for logs.
std::string name_of(PassingPlan::By by);

// What there is to choose from.
struct PassingChoice {
  const ExampleLedger& ledger;
  std::span<const std::uint32_t> rows;        // that may be offered
  std::span<const std::uint8_t> labels;       // [row of the ledger]
  std::span<const float> confidence;          // [i] of rows[i]: what the own model gives the label
  std::span<const float> partner_confidence;  // [i]; empty where the partner's model was not asked
  kernels::PeerId to;
  std::optional<double> alike;  // own direction and the partner's, 0 to 1
};

// At most `most` of the rows.
std::vector<std::uint32_t> choose_rows(const PassingPlan& plan, const PassingChoice& from,
                                       std::size_t most, kernels::Rng& rng);

}  // namespace hearsay::runtime
