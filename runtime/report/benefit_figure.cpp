// SPDX-License-Identifier: Apache-2.0
// Figure 7: the change of the probe loss by a merge, against the age of the model that came and
// against its direction. Refused ones are hollow: the change they would have made.
#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/report/figures.hpp"
#include "runtime/report/plot.hpp"
#include "runtime/report/series.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr std::size_t kMostPoints = 1500, kMostRows = 500;
constexpr double kHeight = 320.0;

double change_of(const Merge& merge) { return *merge.loss_after - *merge.loss_before; }

// Most changes lie close together; outliers stand at the edge.
void draw_panel(const std::vector<const Merge*>& shown, const RunFacts& facts, Plot plot,
                std::optional<double> Merge::*against, Drawing& d) {
  std::vector<double> changes;
  bool is_first = true;
  for (const Merge* merge : shown) {
    changes.push_back(change_of(*merge));
    if (!(merge->*against)) continue;
    const double x = *(merge->*against);
    plot.x.low = is_first ? x : std::min(plot.x.low, x);
    plot.x.high = is_first ? x : std::max(plot.x.high, x);
    is_first = false;
  }
  plot.y.low = std::min(0.0, quantile(changes, 0.01));
  plot.y.high = std::max(0.0, quantile(changes, 0.99));
  const double room = std::max(1e-9, (plot.y.high - plot.y.low) * 0.06);
  plot.y.low -= room;
  plot.y.high += room;
  plot.draw_axes(d);
  d.line(plot.x.from_px, plot.y.at(0.0), plot.x.to_px, plot.y.at(0.0), "zero");
  for (const Merge* merge : shown) {
    if (!(merge->*against)) continue;
    d.circle(plot.x.at(*(merge->*against)), plot.y.at(change_of(*merge)), 3.2,
             merge->refused() ? "point refused" : "point",
             facts.peer_name(merge->peer) + (merge->refused() ? " refused " : " took in ") +
                 facts.peer_name(merge->from) + " at " + seconds_text(merge->time_s) + ": " +
                 shortest(change_of(*merge)) + "\n" + merge->line,
             "data-m");
  }
}

std::string finding_of(const std::vector<const Merge*>& merges) {
  std::size_t helped = 0, accepted = 0, refused = 0;
  std::vector<double> changes, refused_changes;
  for (const Merge* merge : merges) {
    if (merge->refused()) {
      ++refused;
      refused_changes.push_back(change_of(*merge));
      continue;
    }
    ++accepted;
    helped += change_of(*merge) < 0.0;
    changes.push_back(change_of(*merge));
  }
  std::string text;
  if (accepted > 0)
    text = plural(helped, "merge") + " of the " + count_text(static_cast<double>(accepted)) +
           " that were accepted and measured lowered the loss on the receiver's probe set; the "
           "median change was " +
           shortest(quantile(changes, 0.5)) + ".";
  if (refused > 0)
    text += (text.empty() ? "" : " ") + plural(refused, "model") +
            " refused would have changed it by " + shortest(quantile(refused_changes, 0.5)) +
            " (median).";
  return text;
}

}  // namespace

Figure benefit_figure(const RunFacts& facts) {
  Figure figure{"benefit", "Which merges helped", "", "", "", "", ""};
  std::vector<const Merge*> merges, shown;
  for (const Merge& merge : facts.merges) {
    if (merge.loss_before && merge.loss_after) merges.push_back(&merge);
  }
  if (merges.empty()) {
    figure.finding =
        "This run did not measure what a merge does to the loss. Runs with +gate in --merge do, "
        "for example "
        "--merge ema:0.5+gate: they try every model on a probe set before they take it in.";
    return figure;
  }
  const std::size_t stride = stride_for(merges.size(), kMostPoints);
  for (std::size_t i = 0; i < merges.size(); i += stride) shown.push_back(merges[i]);
  figure.finding = finding_of(merges);
  Drawing d(kHeight, "Change of the probe loss by a merge, against age and cosine", "benefit");
  Plot age = Plot::at(0, 0, 445, kHeight), cosine = Plot::at(455, 0, 445, kHeight);
  age.x_label = "age of the incoming model, samples";
  age.x_unit = Unit::count;
  cosine.x_label = "cosine between both displacements";
  age.y_label = cosine.y_label = "probe loss after − before";
  draw_panel(shown, facts, age, &Merge::age_samples, d);
  draw_panel(shown, facts, cosine, &Merge::cosine, d);
  figure.drawing = std::move(d).finish() +
                   legend({{"point", "dot", "accepted"}, {"point refused", "dot", "refused"}});
  figure.note = "Below zero a merge helps. Points are " + stride_text(stride, "measured merge") +
                "; values beyond the 1st and 99th percentile stand at the edge. For refused models "
                "it is the change at the "
                "last alpha that was tried.";
  TableText table({"time", "receiver", "sender", "verdict", "alpha", "age (samples)", "cosine",
                   "loss before", "after"},
                  "Measured merges");
  const std::size_t every = stride_for(merges.size(), kMostRows);
  for (std::size_t i = 0; i < merges.size(); i += every) {
    const Merge& m = *merges[i];
    table.row({seconds_text(m.time_s), facts.peer_name(m.peer), facts.peer_name(m.from), m.verdict,
               fixed(m.alpha, 3), or_dash(m.age_samples, count_text), or_dash(m.cosine, shortest),
               fixed(*m.loss_before, 4), fixed(*m.loss_after, 4)});
  }
  if (every > 1) figure.note += " The table has " + stride_text(every, "one") + ".";
  figure.table = std::move(table).finish();
  return figure;
}

}  // namespace hearsay::runtime::report
