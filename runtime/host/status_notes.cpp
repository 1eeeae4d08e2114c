// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/status_notes.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <variant>

namespace hearsay::runtime {
namespace {

constexpr double kDistanceSmoothing = 0.1;  // about the last ten models that came in

double number_in(const gossip::Event& event, std::string_view key, double otherwise) {
  const gossip::FieldValue* value = field_of(event, key);
  const double* number = value == nullptr ? nullptr : std::get_if<double>(value);
  return number == nullptr ? otherwise : *number;
}

std::string text_in(const gossip::Event& event, std::string_view key) {
  const gossip::FieldValue* value = field_of(event, key);
  const std::string* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string() : *text;
}

}  // namespace

const gossip::FieldValue* field_of(const gossip::Event& event, std::string_view key) {
  for (const gossip::Field& field : event.fields) {
    if (field.key == key) return &field.value;
  }
  return nullptr;
}

void note_event(const gossip::Event& event, double at_s, PeerStatus& status) {
  if (event.name == "merge.decided") {
    status.alpha = number_in(event, "alpha", status.alpha);
    // A frame that never got a look has no age.
    if (field_of(event, "age_samples") != nullptr)
      note_decision(number_in(event, "age_samples", 0.0), number_in(event, "rel_norm", 0.0),
                    status);
  } else if (event.name == "merge.applied") {
    note_merge({text_in(event, "from"), status.alpha, at_s}, status);
  } else if (event.name == "eval.finished") {
    status.test_loss = number_in(event, "loss", status.test_loss);
  }
}

// Two models that each are D away from the pool's mean, in directions of their own, are sqrt(2) D
// away from each other; so the mean square of the displacements is halved.
void note_decision(double age_samples, double relative_norm, PeerStatus& status) {
  status.merge_age_samples.add(age_samples);
  const double seen = relative_norm * relative_norm / 2.0;
  if (!std::isfinite(seen)) return;
  const double before = status.consensus_distance * status.consensus_distance;
  const bool is_first = status.consensus_distance < 0.0;
  status.consensus_distance =
      std::sqrt(is_first ? seen : before + kDistanceSmoothing * (seen - before));
}

void note_merge(PeerStatus::Merge merge, PeerStatus& status) {
  status.partner = merge.from;
  if (status.newest_merges.size() == PeerStatus::kNewestMerges)
    status.newest_merges.erase(status.newest_merges.begin());
  status.newest_merges.push_back(std::move(merge));
}

}  // namespace hearsay::runtime
