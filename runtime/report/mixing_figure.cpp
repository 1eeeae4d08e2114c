// SPDX-License-Identifier: Apache-2.0
// Figure 4: how far models stand apart and how old they are when they are merged, over time.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <utility>

#include "runtime/report/figures.hpp"
#include "runtime/report/plot.hpp"
#include "runtime/report/series.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr std::size_t kMostWindows = 60, kMergesAWindow = 5;

struct Window {
  double middle_s = 0.0;
  std::size_t merges = 0;
  double distance = 0.0, distance_low = 0.0, distance_high = 0.0;
  std::optional<double> age, age_low, age_high;  // median, p10, p90
};

// Windows of equal numbers of merges, so that each says as much.
std::vector<Window> windows_of(const std::vector<const Merge*>& merges) {
  const std::size_t wanted =
      std::clamp<std::size_t>(merges.size() / kMergesAWindow, 1, kMostWindows);
  std::vector<Window> windows;
  for (std::size_t w = 0; w < wanted; ++w) {
    const std::size_t begin = w * merges.size() / wanted, end = (w + 1) * merges.size() / wanted;
    Window window;
    window.merges = end - begin;
    std::vector<double> distances, ages;
    double squares = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      window.middle_s += merges[i]->time_s / static_cast<double>(end - begin);
      const double norm = *merges[i]->relative_norm / std::numbers::sqrt2;
      distances.push_back(norm);
      squares += norm * norm;
      if (merges[i]->age_samples) ages.push_back(*merges[i]->age_samples);
    }
    window.distance = std::sqrt(squares / static_cast<double>(end - begin));
    window.distance_low = quantile(distances, 0.1);
    window.distance_high = quantile(distances, 0.9);
    if (!ages.empty()) {
      window.age = quantile(ages, 0.5);
      window.age_low = quantile(ages, 0.1);
      window.age_high = quantile(ages, 0.9);
    }
    windows.push_back(window);
  }
  return windows;
}

struct Track {
  std::function<std::optional<double>(const Window&)> middle, low, high;
};

void draw_track(const std::vector<Window>& windows, const Track& track, Plot& plot, Drawing& d) {
  plot.y.low = 0.0;
  plot.y.high = 0.0;
  for (const Window& w : windows) plot.y.high = std::max(plot.y.high, track.high(w).value_or(0.0));
  plot.y.high = plot.y.high > 0.0 ? plot.y.high * 1.06 : 1.0;
  plot.draw_axes(d);
  PathText band, line;
  for (const Window& w : windows)
    band.add(plot.x.at(w.middle_s), plot.y.at(track.high(w).value_or(0.0)));
  for (auto w = windows.rbegin(); w != windows.rend(); ++w)
    band.add(plot.x.at(w->middle_s), plot.y.at(track.low(*w).value_or(0.0)));
  band.close();
  d.path(band.text(), "band c0");
  for (const Window& w : windows)
    line.add(plot.x.at(w.middle_s), plot.y.at(track.middle(w).value_or(0.0)));
  d.path(line.text(), "mean c0");
  for (const Window& w : windows)
    d.circle(plot.x.at(w.middle_s), plot.y.at(track.middle(w).value_or(0.0)),
             windows.size() > 30 ? 2.5 : 3.5, "dot-line c0",
             "about " + seconds_text(w.middle_s) + ": " + shortest(track.middle(w).value_or(0.0)) +
                 " (p10 " + shortest(track.low(w).value_or(0.0)) + ", p90 " +
                 shortest(track.high(w).value_or(0.0)) + ") of " + plural(w.merges, "merge"),
             "data-m");
}

std::string finding_of(const RunFacts& facts, const std::vector<Window>& windows,
                       double median_age) {
  // Far apart early, so the start of a run with equal weights is not the place to compare with.
  const auto highest =
      std::max_element(windows.begin(), windows.end(),
                       [](const Window& a, const Window& b) { return a.distance < b.distance; });
  const Window& last = windows.back();
  std::string text = "Models that met stood " + shortest(100.0 * highest->distance) +
                     " % of their norm from the pool's mean at most (about " +
                     seconds_text(highest->middle_s) + ")";
  text += windows.size() > 1 ? " and " + shortest(100.0 * last.distance) + " % at the end" : "";
  text += "; the median model was " + count_text(median_age) + " samples behind its receiver";
  std::vector<double> shards;
  for (const Peer& peer : facts.peers) {
    if (peer.shard && *peer.shard > 0.0) shards.push_back(*peer.shard);
  }
  if (!shards.empty()) text += ", " + shortest(median_age / quantile(shards, 0.5)) + " epochs";
  return text + ".";
}

}  // namespace

Figure mixing_figure(const RunFacts& facts) {
  Figure figure{"mixing", "Is the pool mixing", "", "", "", "", ""};
  std::vector<const Merge*> merges;
  std::vector<double> ages;
  for (const Merge& merge : facts.merges) {
    // A refused model may be anything; it says nothing of the pool.
    if (!merge.relative_norm || merge.refused()) continue;
    merges.push_back(&merge);
    if (merge.age_samples) ages.push_back(*merge.age_samples);
  }
  if (merges.empty()) {
    figure.finding =
        "No accepted merge was logged, so nothing says how far the models stand apart on the way.";
    if (facts.result && facts.result->consensus_distance)
      figure.finding += " At the end their mean squared distance from the mean was " +
                        shortest(*facts.result->consensus_distance) + ".";
    return figure;
  }
  const std::vector<Window> windows = windows_of(merges);
  figure.finding = finding_of(facts, windows, quantile(ages, 0.5));
  Drawing d(300, "Distance and age of the models that were merged, over time", "mixing");
  Plot distance = Plot::at(0, 0, 445, 300), age = Plot::at(455, 0, 445, 300);
  for (Plot* plot : {&distance, &age}) {
    plot->x.high = std::max(facts.end_s, 1e-9);
    plot->x_unit = Unit::seconds;
    plot->x_label = facts.is_virtual ? "virtual time" : "time";
  }
  distance.y_unit = Unit::percent;
  distance.y_label = "distance from the pool's mean, of the norm";
  age.y_label = "age of merged models, samples";
  age.y_unit = Unit::count;
  draw_track(windows,
             {[](const Window& w) { return std::optional(w.distance); },
              [](const Window& w) { return std::optional(w.distance_low); },
              [](const Window& w) { return std::optional(std::max(w.distance, w.distance_high)); }},
             distance, d);
  draw_track(windows,
             {[](const Window& w) { return w.age; }, [](const Window& w) { return w.age_low; },
              [](const Window& w) { return w.age_high; }},
             age, d);
  figure.drawing = std::move(d).finish() +
                   legend({{"mean c0", "line", "root mean square (distance), median (age)"},
                           {"band c0", "band", "10th to 90th percentile"}});
  figure.note =
      "The distance is an estimate from the merges (rel_norm / √2): nobody has all models at once. "
      "Each "
      "point stands for about " +
      plural(merges.size() / windows.size(), "accepted merge") + ".";
  if (facts.result && facts.result->consensus_distance)
    figure.note +=
        " Measured over all models at the end: their mean squared distance from the mean was " +
        shortest(*facts.result->consensus_distance) + ", in the weights' own units.";
  TableText table({"about", "merges", "distance", "p10", "p90", "age (samples)", "p10", "p90"},
                  "Distance and age");
  const auto cell = [](const std::optional<double>& value) { return or_dash(value, count_text); };
  for (const Window& w : windows)
    table.row({seconds_text(w.middle_s), std::to_string(w.merges), shortest(w.distance),
               shortest(w.distance_low), shortest(w.distance_high), cell(w.age), cell(w.age_low),
               cell(w.age_high)});
  figure.table = std::move(table).finish();
  return figure;
}

}  // namespace hearsay::runtime::report
