// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/activities.hpp"

#include <algorithm>
#include <map>

#include "runtime/report/series.hpp"

namespace hearsay::runtime::report {
namespace {

// Gaps below this share of the run are drawn nowhere.
constexpr double kVisibleShare = 1e-3;

// Weighted by mini-batches, as blocks have different lengths.
double median_step(const std::vector<Block>& blocks) {
  std::vector<std::pair<double, double>> steps;
  double total = 0.0;
  for (const Block& block : blocks) {
    if (block.steps == 0) continue;
    steps.emplace_back(block.step_s, static_cast<double>(block.steps));
    total += steps.back().second;
  }
  std::sort(steps.begin(), steps.end());
  double seen = 0.0;
  for (const auto& [step_s, weight] : steps) {
    seen += weight;
    if (seen * 2.0 >= total) return step_s;
  }
  return 0.0;
}

class LifeSpans {
 public:
  LifeSpans(const Life& life, double visible_s, double median_s, std::vector<Span>& spans)
      : life_(life),
        visible_s_(visible_s),
        median_s_(median_s),
        spans_(spans),
        at_s_(life.begin_s) {}

  // Consecutive blocks of this process, drawn as one.
  void train(const std::vector<const Block*>& blocks) {
    Span span;
    span.peer = life_.peer;
    span.begin_s = std::clamp(blocks.front()->begin_s, at_s_, blocks.back()->end_s);
    if (span.begin_s - at_s_ > visible_s_) {
      wait_until(span.begin_s);
    } else {
      span.begin_s = std::min(at_s_, span.begin_s);
    }
    span.end_s = blocks.back()->end_s;
    span.blocks = blocks.size();
    for (const Block* block : blocks) span.step_s = std::max(span.step_s, block->step_s);
    const bool is_slow = median_s_ > 0.0 && span.step_s > kSlowFactor * median_s_;
    span.activity = is_slow ? Activity::slow : Activity::training;
    span.line = blocks.back()->line;
    at_s_ = span.end_s;
    spans_.push_back(std::move(span));
  }

  void end() {
    if (life_.end_s - at_s_ <= visible_s_ / 4.0) return;
    spans_.push_back({life_.peer, at_s_, life_.end_s,
                      life_.left ? Activity::serving : Activity::unfinished, 0, 0.0,
                      life_.last_line});
  }

 private:
  void wait_until(double time_s) {
    spans_.push_back({life_.peer, at_s_, time_s, Activity::waiting, 0, 0.0, ""});
    at_s_ = time_s;
  }

  const Life& life_;
  double visible_s_, median_s_;
  std::vector<Span>& spans_;
  double at_s_;
};

}  // namespace

Activities activities_of(const RunFacts& facts, std::size_t most_a_peer) {
  Activities all;
  all.median_step_s = median_step(facts.blocks);
  std::map<PeerIndex, std::vector<const Block*>> by_peer;
  for (const Block& block : facts.blocks) by_peer[block.peer].push_back(&block);
  std::size_t most = 0;
  for (const auto& [peer, blocks] : by_peer) most = std::max(most, blocks.size());
  all.blocks_a_span = stride_for(most, most_a_peer);
  for (const Life& life : facts.lives) {
    LifeSpans spans(life, facts.end_s * kVisibleShare, all.median_step_s, all.spans);
    std::vector<const Block*> joined;
    for (const Block* block : by_peer[life.peer]) {
      if (block->end_s < life.begin_s || block->end_s > life.end_s) continue;
      joined.push_back(block);
      if (joined.size() < all.blocks_a_span) continue;
      spans.train(joined);
      joined.clear();
    }
    if (!joined.empty()) spans.train(joined);
    spans.end();
  }
  return all;
}

std::string name_of(Activity activity) {
  switch (activity) {
    case Activity::training: return "training";
    case Activity::slow: return "slow training";
    case Activity::unfinished: return "after its last whole block";
    case Activity::waiting: return "waiting";
    case Activity::serving: break;
  }
  return "answering others";
}

}  // namespace hearsay::runtime::report
