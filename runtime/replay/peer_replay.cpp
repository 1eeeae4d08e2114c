// SPDX-License-Identifier: Apache-2.0
#include "runtime/replay/peer_replay.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "gossip/event.hpp"
#include "kernels/core/digest.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/host/peer_checkpoint.hpp"

namespace hearsay::runtime {
namespace {

namespace act = gossip::action;
namespace input = gossip::input;

std::optional<std::int64_t> integer_of(const gossip::Event& event, std::string_view key) {
  for (const gossip::Field& field : event.fields) {
    if (field.key == key && std::holds_alternative<std::int64_t>(field.value))
      return std::get<std::int64_t>(field.value);
  }
  return std::nullopt;
}

// "0.weight", and whatever else lies in that tile of the buffer.
std::string tensors_of_tile(const kernels::Layout& layout, std::size_t tile) {
  const std::size_t begin = tile * kernels::kDigestTileValues;
  std::string names;
  for (const kernels::TensorSlot& tensor : layout.slots()) {
    if (tensor.offset >= begin + kernels::kDigestTileValues) break;
    if (tensor.offset + tensor.count <= begin) continue;
    names += (names.empty() ? "" : ", ") + tensor.name;
  }
  return names;
}

}  // namespace

PeerReplay::PeerReplay(const RunConfig& config, kernels::PeerId self,
                       std::vector<RecordedSession> sessions, std::vector<std::string> logs,
                       const ReplayPlan& plan, FrameStore& store)
    : config_(config),
      self_(self),
      name_(gossip::peer_name(self)),
      sessions_(std::move(sessions)),
      plan_(plan),
      store_(store),
      events_(logs, name_, damage_) {
  result_.peer = name_;
  if (!damage_.empty()) result_.damage.push_back(damage_);
  for (const RecordedSession& session : sessions_)
    if (session.head.resumes) wanted_marks_.insert(*session.head.resumes);
}

PeerReplay::~PeerReplay() = default;

PeerReplayResult PeerReplay::run(const std::atomic<bool>& stopped) {
  result_.complete = !sessions_.empty();
  for (const RecordedSession& session : sessions_) {
    try {
      JournalReader reader(session.path);
      if (!begin(session) || !play(reader, session.head, stopped)) result_.complete = false;
      if (!reader.damage().empty()) result_.damage.push_back(reader.damage());
    } catch (const kernels::Fault& fault) {
      result_.damage.emplace_back(fault.what());
      result_.complete = false;
    }
    if (reached_ || stopped) break;
  }
  if (work_) {
    const auto weights = work_->trainer().read_weights();
    result_.weights.assign(weights.begin(), weights.end());
    const Evaluation test = work_->evaluate(weights, 0);
    result_.test_acc = test.accuracy;
    result_.test_loss = test.loss;
    result_.steps = work_->counters().steps;
  }
  result_.events = events_.checked();
  return std::move(result_);
}

// Makes the peer as that start of it was made.
bool PeerReplay::begin(const RecordedSession& session) {
  RunConfig& config = as_begun_;
  config = config_;
  apply_computed_config(session.head.config, config);
  if (plan_.merge) config.merge = *plan_.merge;
  if (plan_.codec) config.codec = *plan_.codec;
  if (plan_.data_seed) config.seed = *plan_.data_seed;
  // What was trained on a CPU is made again there, whatever its pool's other starts had.
  if (plan_.device && config.device != "cpu") config.device = *plan_.device;
  events_.begin_start(session.head.incarnation);
  tiles_.clear();
  done_ = false;
  asked_ = Step::none;
  work_ = std::make_unique<PeerWork>(config, self_, SnapshotPool());
  work_->model().keep_digests(plan_.checks ? DigestMode::on : DigestMode::off);
  tamper_ = std::make_unique<Tamper>(config.seed, self_);
  work_->take(session.head.place());
  if (!session.head.resumes) return recollect(session.head);
  const auto found = marks_.find(*session.head.resumes);
  if (found == marks_.end()) {
    result_.damage.push_back(session.path + ": goes on from a point that no journal reaches");
    return false;
  }
  take_up(found->second, config, *work_);
  return recollect(session.head);
}

// What the starts before have written down, as far as that start has found it: the last line may
// not have got as far as the disk.
bool PeerReplay::recollect(const JournalHead& head) {
  if (head.written > written_.size()) {
    result_.damage.push_back(name_ + ": has found " + std::to_string(head.written) +
                             " lines about its examples, and " + std::to_string(written_.size()) +
                             " were written");
    return false;
  }
  written_.resize(head.written);
  return written_.empty() || work_->recollect(written_);
}

bool PeerReplay::play(JournalReader& reader, const JournalHead& head,
                      const std::atomic<bool>& stopped) {
  keep_mark({head.incarnation, 0});
  while (!stopped && !reached_) {
    const auto entry = reader.next();
    if (!entry) return reader.damage().empty();
    if (!take(*entry)) return false;
    keep_mark({head.incarnation, reader.entries()});
  }
  return true;
}

// False when the rest cannot be made again.
bool PeerReplay::take(const journal::Entry& entry) {
  if (const auto* turn = std::get_if<journal::Turn>(&entry)) return hand_over(*turn);
  if (const auto* order = std::get_if<journal::Hostile>(&entry)) {
    obey(*order);
  } else if (const auto* digests = std::get_if<journal::Digests>(&entry)) {
    if (plan_.checks) compare(*digests);
  } else {
    const Step step = std::exchange(asked_, Step::none);
    Trainer& trainer = work_->trainer();
    if (step != Step::none)
      report_ = step == Step::train ? trainer.train(0) : trainer.train_gradient(0);
  }
  return true;
}

bool PeerReplay::hand_over(const journal::Turn& turn) {
  gossip::Input input = turn.input;
  if (auto* done = std::get_if<input::StepDone>(&input)) done->report = report_;
  if (auto* in = std::get_if<input::FrameIn>(&input); in != nullptr && turn.has_values) {
    if (!store_.give(in->frame)) {
      ++result_.frames_missing;
      if (!plan_.checks) return true;  // something was changed: whoever sent it no longer does
      result_.damage.push_back(name_ + ": " + text_of(key_of(in->frame)) +
                               " cannot be made again; it stops there");
      return false;
    }
  }
  if (done_) return true;
  now_ = turn.now;
  gossip::Actions actions;
  work_->protocol().on(input, now_, work_->model(), actions);
  for (gossip::Action& action : actions) carry_out(action);
  return true;
}

void PeerReplay::carry_out(gossip::Action& action) {
  if (std::holds_alternative<act::Train>(action)) {
    asked_ = Step::train;
  } else if (std::holds_alternative<act::TrainGradient>(action)) {
    asked_ = Step::gradient;
  } else if (const auto* apply = std::get_if<act::ApplyGradient>(&action)) {
    work_->trainer().apply_gradient(static_cast<float>(apply->scale));
  } else if (auto* out = std::get_if<act::Send>(&action)) {
    tamper_->apply(out->frame, work_->model());
    if (out->frame.carries_weights() && plan_.dropped != self_.value) store_.put(out->frame);
  } else if (const auto* line = std::get_if<act::Record>(&action)) {
    record(line->event);
  } else if (auto* note = std::get_if<act::Persist>(&action)) {
    written_.push_back(std::move(note->line));
  } else if (std::holds_alternative<act::Finish>(action)) {
    done_ = true;
  }
}

void PeerReplay::record(const gossip::Event& event) {
  if (event.name == "merge.applied") {
    ++result_.merges;
    const auto mseq = static_cast<std::uint64_t>(integer_of(event, "mseq").value_or(0));
    if (plan_.checks) tiles_[mseq] = work_->model().take_tiles();
    if (plan_.until && plan_.until->peer == self_.value && plan_.until->mseq == mseq)
      reached_ = true;
  }
  if (plan_.checks && result_.differences.empty() && !events_.check(now_, event))
    differ(events_.difference());
}

void PeerReplay::compare(const journal::Digests& logged) {
  const auto made = tiles_.find(logged.mseq);
  if (made == tiles_.end()) return differ("merge " + std::to_string(logged.mseq) + " is not made");
  ++result_.digests;
  if (made->second != logged.tiles) {
    std::size_t tile = 0;
    while (tile < std::min(made->second.size(), logged.tiles.size()) &&
           made->second[tile] == logged.tiles[tile])
      ++tile;
    differ("other weights after merge " + std::to_string(logged.mseq) + ", from value " +
           std::to_string(tile * kernels::kDigestTileValues) + " on (" +
           tensors_of_tile(work_->layout(), tile) + ")");
  }
  tiles_.erase(tiles_.begin(), std::next(made));
}

void PeerReplay::obey(const journal::Hostile& order) {
  if (const auto attack = find_attack(order.what)) {
    if (!order.begins) return tamper_->end();
    return tamper_->begin(*attack, order.strength, work_->model().snapshot());
  }
  if (order.what == "label-flip") work_->trainer().flip_labels(order.begins);
  if (order.what == "poison") poison(work_->trainer().weights());
}

void PeerReplay::keep_mark(const JournalMark& mark) {
  if (wanted_marks_.contains(mark)) marks_[mark] = state_in_memory(as_begun_, *work_);
}

void PeerReplay::differ(const std::string& what) {
  if (result_.differences.empty()) result_.differences.push_back(name_ + ": " + what);
}

}  // namespace hearsay::runtime
