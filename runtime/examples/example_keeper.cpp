// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/example_keeper.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/check.hpp"
#include "runtime/examples/columns.hpp"

namespace hearsay::runtime {
namespace {

std::int64_t integer(std::uint64_t value) { return static_cast<std::int64_t>(value); }

std::int64_t thousandths(float share) { return std::lround(1000.0f * share); }

}  // namespace

ExampleKeeper::ExampleKeeper(std::shared_ptr<const ExamplePlan> plan, std::uint64_t seed,
                             kernels::PeerId self, std::size_t rows,
                             std::span<const std::uint32_t> held_out)
    : plan_(std::move(plan)),
      ledger_(rows, self, plan_->peers),
      present_(rows, 1),
      aside_(rows, 0),
      guest_(rows, 0),
      passed_(rows),
      rng_(kernels::Rng::stream(seed, "sampling", self.value)) {
  if (plan_->logs) before_.assign(rows, -1.0f);
  for (const std::uint32_t row : held_out) present_[row] = 0;
  most_rows_ = static_cast<std::size_t>(std::count(present_.begin(), present_.end(), 1));
}

std::size_t ExampleKeeper::trainable() const {
  std::size_t count = 0;
  for (std::size_t row = 0; row < present_.size(); ++row) count += is_trainable(row);
  return count;
}

// What is probably labelled wrongly does not go round.
std::vector<std::uint32_t> ExampleKeeper::to_offer() const {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < present_.size(); ++row) {
    if (is_trainable(row) && guest_[row] == 0 && ledger_.tier[row] != Tier::quarantine)
      rows.push_back(row);
  }
  return rows;
}

void ExampleKeeper::empty(std::size_t row) {
  ledger_.forget_row(row);
  present_[row] = aside_[row] = guest_[row] = 0;
  passed_[row] = {};
  if (plan_->logs) before_[row] = -1.0f;
  std::erase(guests_, static_cast<std::uint32_t>(row));
  free_.push_back(static_cast<std::uint32_t>(row));
}

std::size_t ExampleKeeper::settle(const gossip::Example& example, bool guest) {
  std::size_t row = ledger_.rows();
  if (free_.empty()) {
    ledger_.add_row();
    present_.push_back(0);
    aside_.push_back(0);
    guest_.push_back(0);
    passed_.emplace_back();
    if (plan_->logs) before_.push_back(-1.0f);
    if (!weights_.empty()) weights_.push_back(1.0f);
  } else {
    row = free_.back();
    free_.pop_back();
    if (!weights_.empty()) weights_[row] = 1.0f;
  }
  present_[row] = 1;
  guest_[row] = guest ? 1 : 0;
  if (guest) guests_.push_back(static_cast<std::uint32_t>(row));
  passed_[row] = {std::uint32_t{example.hops} + 1, example.opinions};
  ledger_.visitors[row] = PeerSet::of(example.visitors);
  ledger_.last_seen[row] = samples_;
  // What others said of it counts as validation: most of them were never trained on it.
  for (const gossip::Example::Opinion& opinion : example.opinions) {
    if (opinion.model == gossip::Example::kNobody) continue;
    const float p = opinion.confidence;
    ledger_.validated(row, kernels::PeerId(opinion.model),
                      {p, 2.0f * p - 1.0f, -std::log(std::max(p, 1e-6f))}, true, plan_->bounds());
  }
  return row;
}

void ExampleKeeper::arrived(std::size_t row, const Look& look) {
  ledger_.validated(row, ledger_.self(), look, true, plan_->bounds());
  if (plan_->logs) before_[row] = look.confidence;
}

std::vector<std::uint32_t> ExampleKeeper::to_tell_of() const {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < before_.size(); ++row) {
    if (before_[row] >= 0.0f && ledger_.visits[row] > 0) rows.push_back(row);
  }
  return rows;
}

void ExampleKeeper::learned(std::uint64_t passes, std::span<const std::uint32_t> rows,
                            std::span<const std::uint32_t> ids, std::span<const Look> looks) {
  HS_CHECK(rows.size() == ids.size() && rows.size() == looks.size());
  if (rows.empty()) return;
  Lesson lesson;
  lesson.epoch = passes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    lesson.ids.push_back(ids[i]);
    lesson.before.push_back(thousandths(std::exchange(before_[rows[i]], -1.0f)));
    lesson.after.push_back(thousandths(looks[i].confidence));
  }
  lessons_.push_back(std::move(lesson));
}

std::optional<std::size_t> ExampleKeeper::guest_to_leave(std::size_t most) const {
  if (guests_.size() < most || guests_.empty()) return std::nullopt;
  return guests_.front();
}

float ExampleKeeper::confidence(std::size_t row) const {
  if (plan_->looks && ledger_.evals[row] > 0) return ledger_.confidence[row];
  if (ledger_.train_confidence[row] >= 0.0f) return ledger_.train_confidence[row];
  return ledger_.evals[row] > 0 ? ledger_.confidence[row] : 0.5f;
}

bool ExampleKeeper::wants_own_look(std::uint64_t passes) const {
  return plan_->looks && passes >= own_.last_pass + plan_->every;
}

// The first one as soon as there is something learned, later ones as often as own ones: every model
// that comes would cost a third of an epoch.
bool ExampleKeeper::wants_look_of(kernels::PeerId model, std::uint64_t passes) const {
  if (!plan_->looks || model == ledger_.self() || passes == 0) return false;
  return others_.done == 0 || passes >= others_.last_pass + plan_->every;
}

// Whether this model sees the examples differently enough from those kept to count for itself.
bool ExampleKeeper::counts(kernels::PeerId model, std::span<const float> confidence,
                           double& most_alike) {
  most_alike = 0.0;
  std::erase_if(ledger_.kept, [&](const auto& look) { return look.model == model; });
  for (const ExampleLedger::KeptLook& look : ledger_.kept)
    most_alike = std::max(most_alike, likeness(look.confidence, confidence, present_));
  if (plan_->retire && most_alike >= plan_->retire->alike && plan_->retire->alike < 1.0)
    return false;
  if (ledger_.kept.size() == ExampleLedger::kKeptLooks) ledger_.kept.erase(ledger_.kept.begin());
  ledger_.kept.push_back({model, {confidence.begin(), confidence.end()}});
  return true;
}

void ExampleKeeper::judge(kernels::PeerId model, std::uint64_t passes, double temperature,
                          std::span<const Look> looks, std::span<const std::uint8_t> labels) {
  HS_CHECK(looks.size() == ledger_.rows() && labels.size() == ledger_.rows());
  std::vector<float> confidence(looks.size());
  for (std::size_t row = 0; row < looks.size(); ++row) confidence[row] = looks[row].confidence;
  double most_alike = 0.0;
  const bool counted = !plan_->retire || counts(model, confidence, most_alike);
  for (std::size_t row = 0; row < looks.size(); ++row) {
    if (present_[row] != 0) ledger_.validated(row, model, looks[row], counted, plan_->bounds());
  }
  if (plan_->retire) retire(*plan_->retire, labels, present_, ledger_);
  if (plan_->quarantine) quarantine(*plan_->quarantine, present_, ledger_);
  Rounds& rounds = model == ledger_.self() ? own_ : others_;
  ++rounds.done;
  rounds.last_pass = passes;
  if (model == ledger_.self()) temperature_ = temperature;
  note({model, passes, 0.0, 0.0, temperature, most_alike, counted, {}}, looks);
}

void ExampleKeeper::note(Note made, std::span<const Look> looks) {
  double confidence = 0.0, right = 0.0, there = 0.0;
  for (std::size_t row = 0; row < looks.size(); ++row) {
    if (present_[row] == 0) continue;
    confidence += looks[row].confidence;
    right += looks[row].right() ? 1.0 : 0.0;
    there += 1.0;
  }
  made.confidence = there > 0.0 ? confidence / there : 0.0;
  made.accuracy = there > 0.0 ? right / there : 0.0;
  const TierCounts now = tiers();
  made.tiers.assign(now.rows.begin(), now.rows.end());
  notes_.push_back(std::move(made));
}

std::vector<std::uint32_t> ExampleKeeper::begin_pass(double progress, std::size_t least) {
  std::vector<std::uint8_t> there(present_);
  for (std::size_t row = 0; row < there.size(); ++row) there[row] = is_trainable(row) ? 1 : 0;
  Epoch epoch = draw_epoch(plan_->sampling, there, ledger_, samples_, progress, least, rng_);
  if (epoch.rows.size() > most_rows_) epoch.rows.resize(most_rows_);
  weights_ = std::move(epoch.weights);
  return std::move(epoch.rows);
}

void ExampleKeeper::trained(std::span<const std::uint32_t> rows,
                            std::span<const std::uint8_t> labels, std::span<const float> outputs) {
  const std::size_t classes = outputs.size() / rows.size();
  samples_ += rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Look look = look_at(outputs.subspan(i * classes, classes), labels[i], temperature_);
    ledger_.trained(rows[i], look, samples_);
  }
}

std::vector<gossip::Event> ExampleKeeper::take_events() {
  std::vector<gossip::Event> events;
  for (const Note& note : std::exchange(notes_, {})) {
    const auto in = [&](Tier tier) { return integer(note.tiers[static_cast<std::size_t>(tier)]); };
    gossip::Event event("examples.judged");
    event.add("by", gossip::peer_name(note.by)).add("epoch", integer(note.epoch));
    event.add("confidence", note.confidence).add("acc", note.accuracy);
    event.add("temperature", note.temperature).add("alike", note.alike);
    event.add("counts", note.counts).add("active", in(Tier::active));
    event.add("reserve", in(Tier::reserve)).add("retired", in(Tier::retired));
    events.push_back(std::move(event.add("quarantine", in(Tier::quarantine))));
  }
  for (Lesson& lesson : lessons_) {
    gossip::Event event("examples.learned");
    event.add("epoch", integer(lesson.epoch)).add("ids", std::move(lesson.ids));
    event.add("before", std::move(lesson.before)).add("after", std::move(lesson.after));
    events.push_back(std::move(event));
  }
  lessons_.clear();
  return events;
}

void ExampleKeeper::Note::state(gossip::Archive& a) {
  a("by", by)("epoch", epoch)("confidence", confidence)("accuracy", accuracy);
  a("temperature", temperature)("alike", alike)("counts", counts)("tiers", tiers);
  if (a.loading() && tiers.size() != kTiers) a.fail("tiers", "are not as many as there are");
}

void ExampleKeeper::state(gossip::Archive& archive) {
  archive("ledger", ledger_);
  keep_column(archive, "present", present_, ledger_.rows());
  if (plan_->passing) state_of_passed(archive);
  if (plan_->logs) {
    keep_column(archive, "before", before_, ledger_.rows());
    archive("lessons", lessons_);
  }
  std::size_t weights = weights_.size();
  archive("weighted", weights);
  if (archive.loading() && weights != 0 && weights != ledger_.rows())
    archive.fail("weighted", "has not one weight an example");
  keep_column(archive, "weights", weights_, weights);
  archive("rng", rng_)("samples", samples_)("temperature", temperature_);
  archive("own", own_)("others", others_)("most_rows", most_rows_)("notes", notes_);
  if (!archive.loading()) return;
  if (!(temperature_ >= kLeastTemperature && temperature_ <= kMostTemperature))
    archive.fail("temperature", "is out of range");
  for (const float weight : weights_) {
    if (!(weight >= 0.0f && weight <= 1000.0f)) archive.fail("weights", "are out of range");
  }
}

void ExampleKeeper::state_of_passed(gossip::Archive& archive) {
  const std::size_t rows = ledger_.rows();
  keep_column(archive, "aside", aside_, rows);
  keep_column(archive, "guest", guest_, rows);
  keep_column(archive, "passed", passed_, rows);
  archive("free", free_)("guests", guests_);
  if (!archive.loading()) return;
  for (const std::uint32_t row : free_) {
    if (row >= rows || present_[row] != 0) archive.fail("free", "names a row that is not");
  }
  for (const std::uint32_t row : guests_) {
    if (row >= rows || guest_[row] == 0) archive.fail("guests", "names a row that has none");
  }
}

}  // namespace hearsay::runtime
