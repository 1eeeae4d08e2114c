// SPDX-License-Identifier: Apache-2.0
// Figure 3: test accuracy and loss against samples, seconds and bytes: one drawing each, which the
// page turns into tabs. One run: a thin line a peer. Several: a thin line a run, a colour a group.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/report/comparison.hpp"
#include "runtime/report/plot.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr std::size_t kMany = 16;  // lines: from here on they are drawn fainter
constexpr std::size_t kPlaces = 80, kMostPoints = 120, kMostColours = 7, kMostRows = 200;
enum class Against { samples, seconds, bytes };

// Bytes that the pool had sent by a time.
class BytesSent {
 public:
  explicit BytesSent(const RunFacts& run) : end_s_(run.end_s) {
    double sum = 0.0;
    for (const Transfer& t : run.transfers) curve_.push_back({t.time_s, sum += t.wire_bytes});
    // Synchronous protocols log no transfers: their sum grows evenly.
    if (curve_.empty() && run.result) total_ = run.result->wire_bytes.value_or(0.0);
  }
  double at(double time_s) const {
    if (curve_.empty()) return end_s_ > 0.0 ? total_ * std::min(1.0, time_s / end_s_) : 0.0;
    const auto after = std::upper_bound(curve_.begin(), curve_.end(), time_s,
                                        [](double at, const Point& p) { return at < p.x; });
    return after == curve_.begin() ? 0.0 : std::prev(after)->y;
  }

 private:
  Curve curve_;
  double end_s_, total_ = 0.0;
};

std::vector<Curve> curves_of_peers(const RunFacts& run, Against against, bool is_loss) {
  const BytesSent sent(run);
  std::vector<Curve> curves(run.peers.size());
  for (const Evaluation& e : run.evaluations) {
    const auto& value = is_loss ? e.loss : e.accuracy;
    if (!value) continue;
    const double x = against == Against::samples   ? e.samples
                     : against == Against::seconds ? e.time_s
                                                   : sent.at(e.time_s);
    Curve& curve = curves[e.peer];
    // A peer that starts again may go back in samples; its line goes on from there.
    while (!curve.empty() && curve.back().x > x) curve.pop_back();
    curve.push_back({x, *value});
  }
  std::erase_if(curves, [](const Curve& curve) { return curve.empty(); });
  return curves;
}

Curve mean_of(const Band& band) {
  Curve curve;
  for (std::size_t i = 0; i < band.x.size(); ++i) curve.push_back({band.x[i], band.mean[i]});
  return curve;
}

struct Lines {
  std::vector<Curve> thin;
  std::vector<std::string> names;
  Band band;
  std::string css;
};

Lines lines_of(const Group& group, std::size_t colour, bool is_alone, Against against,
               bool is_loss) {
  Lines lines;
  lines.css = "c" + std::to_string(colour % kMostColours) + (group.is_baseline ? " baseline" : "");
  if (is_alone) {
    lines.thin = curves_of_peers(*group.runs.front(), against, is_loss);
    for (const Peer& peer : group.runs.front()->peers) lines.names.push_back(peer.name);
  } else {
    for (const RunFacts* run : group.runs) {
      lines.thin.push_back(mean_of(band_of(curves_of_peers(*run, against, is_loss), kPlaces)));
      lines.names.push_back(run->name);
    }
  }
  lines.band = band_of(lines.thin, kPlaces);
  return lines;
}

void widen(const std::vector<Lines>& all, Plot& plot) {
  bool is_first = true;
  for (const Lines& lines : all) {
    for (const Curve& curve : lines.thin) {
      for (const Point& p : curve) {
        plot.x.high = is_first ? p.x : std::max(plot.x.high, p.x);
        plot.y.low = is_first ? p.y : std::min(plot.y.low, p.y);
        plot.y.high = is_first ? p.y : std::max(plot.y.high, p.y);
        is_first = false;
      }
    }
  }
  const double room =
      std::max((plot.y.high - plot.y.low) * 0.05, std::abs(plot.y.high) * 1e-3 + 1e-9);
  plot.y.low = std::max(0.0, plot.y.low - room);
  plot.y.high += room;
  if (!(plot.x.high > 0.0)) plot.x.high = 1.0;
}

PathText path_of(const Curve& curve, const Plot& plot) {
  PathText path;
  for (const Point& p : thinned(curve, kMostPoints)) path.add(plot.x.at(p.x), plot.y.at(p.y));
  return path;
}

void draw_lines(const Lines& lines, const Plot& plot, bool is_alone, const std::string& label,
                Drawing& d) {
  if (lines.band.x.empty()) return;
  if (lines.band.x.back() <= 0.0) {  // sends nothing: what it reached, across the whole width
    const double y = plot.y.at(lines.band.mean.back());
    d.path("M" + coordinate(plot.x.from_px) + " " + coordinate(y) + "L" + coordinate(plot.x.to_px) +
               " " + coordinate(y),
           "mean flat " + lines.css, label + ", which sends nothing");
    return;
  }
  if (lines.thin.size() > 1) {
    PathText band;
    for (std::size_t i = 0; i < lines.band.x.size(); ++i)
      band.add(plot.x.at(lines.band.x[i]), plot.y.at(lines.band.high[i]));
    for (std::size_t i = lines.band.x.size(); i-- > 0;)
      band.add(plot.x.at(lines.band.x[i]), plot.y.at(lines.band.low[i]));
    band.close();
    d.path(band.text(), "band " + lines.css);
    for (std::size_t i = 0; i < lines.thin.size(); ++i) {
      const std::string name = i < lines.names.size() ? lines.names[i] : "";
      d.path(path_of(lines.thin[i], plot).text(),
             (lines.thin.size() > kMany ? "thin many " : "thin ") + lines.css, name,
             is_alone ? "data-m data-p=\"" + std::to_string(i) + "\"" : "data-m");
    }
  }
  const Curve mean = mean_of(lines.band);
  if (mean.size() == 1)
    d.circle(plot.x.at(mean[0].x), plot.y.at(mean[0].y), 4, "dot-line " + lines.css, label);
  if (lines.thin.size() > 1) d.path(path_of(mean, plot).text(), "halo");
  d.path(path_of(mean, plot).text(), "mean " + lines.css, label);
}

std::string drawing_of(const Comparison& comparison, Against against, bool is_alone) {
  Drawing d(330, "Test accuracy and test loss", "curves");
  for (const bool is_loss : {false, true}) {
    std::vector<Lines> all;
    for (std::size_t i = 0; i < comparison.groups.size(); ++i)
      all.push_back(lines_of(comparison.groups[i], i, is_alone, against, is_loss));
    Plot plot = Plot::at(is_loss ? 455 : 0, 0, 445, 330);
    widen(all, plot);
    plot.y_unit = is_loss ? Unit::number : Unit::percent;
    plot.y_label = is_loss ? "test loss" : "test accuracy";
    plot.x_unit = against == Against::samples   ? Unit::count
                  : against == Against::seconds ? Unit::seconds
                                                : Unit::bytes;
    const bool is_virtual = comparison.groups.front().runs.front()->is_virtual;
    plot.x_label = against == Against::samples   ? "samples of each peer"
                   : against == Against::seconds ? (is_virtual ? "virtual time" : "time")
                                                 : "sent by the pool";
    plot.draw_axes(d);
    // The first group on top.
    for (std::size_t i = all.size(); i-- > 0;)
      draw_lines(all[i], plot, is_alone, comparison.groups[i].label, d);
  }
  return std::move(d).finish();
}

bool has_evaluations(const Comparison& comparison) {
  for (const Group& group : comparison.groups) {
    for (const RunFacts* run : group.runs) {
      for (const Evaluation& e : run->evaluations) {
        if (e.accuracy || e.loss) return true;
      }
    }
  }
  return false;
}

std::string finding_of_one(const RunFacts& run) {
  const Band band = band_of(curves_of_peers(run, Against::seconds, false), kPlaces);
  std::string text;
  if (run.result && run.result->accuracy_mean) {
    text = "The peers ended at " + percent(*run.result->accuracy_mean) + " mean test accuracy";
    if (run.result->accuracy_min && run.result->accuracy_max)
      text += ", the worst at " + percent(*run.result->accuracy_min) + " and the best at " +
              percent(*run.result->accuracy_max);
  } else if (!band.mean.empty()) {
    text = "So far the peers' newest evaluations have a mean test accuracy of " +
           percent(band.mean.back());
  }
  if (run.result && run.result->samples)
    text += ", after " + count_text(*run.result->samples) + " samples in all";
  text += ", " + seconds_text(run.end_s);
  if (run.result && run.result->wire_bytes) text += " and " + bytes_text(*run.result->wire_bytes);
  text += ".";
  if (band.mean.size() > 1) {
    const double near_end = band.mean.back() - 0.01;
    std::size_t i = 0;
    while (i + 1 < band.mean.size() && band.mean[i] < near_end) ++i;
    text += " Within one point of the last evaluations they were after " + seconds_text(band.x[i]) +
            ".";
  }
  return text;
}

std::string table_of(const Comparison& comparison, bool is_alone) {
  TableText table({is_alone ? "time" : "configuration, time", is_alone ? "peers" : "runs",
                   "accuracy mean", "low", "high", "loss mean"},
                  "Test accuracy and loss over time");
  const std::size_t places =
      std::max<std::size_t>(5, std::min<std::size_t>(40, kMostRows / comparison.groups.size()));
  for (std::size_t g = 0; g < comparison.groups.size(); ++g) {
    const Group& group = comparison.groups[g];
    const Lines accuracy = lines_of(group, g, is_alone, Against::seconds, false);
    const Band band = band_of(accuracy.thin, places);
    const Curve loss = mean_of(lines_of(group, g, is_alone, Against::seconds, true).band);
    for (std::size_t i = 0; i < band.x.size(); ++i)
      table.row({(is_alone ? "" : group.label + ", ") + seconds_text(band.x[i]),
                 std::to_string(band.count[i]), percent(band.mean[i]), percent(band.low[i]),
                 percent(band.high[i]),
                 fixed(value_at(loss, band.x[i]).value_or(std::nan("")), 4)});
  }
  return std::move(table).finish();
}

std::string legend_of(const Comparison& comparison, bool is_alone) {
  std::vector<LegendEntry> entries;
  if (is_alone) {
    const bool deciles = comparison.groups[0].runs[0]->peers.size() >= 5;
    return legend({{"mean c0", "line", "mean over the peers"},
                   {"thin c0", "line", "a peer"},
                   {"band c0", "band", deciles ? "10th to 90th percentile" : "lowest to highest"}});
  }
  for (std::size_t i = 0; i < comparison.groups.size(); ++i) {
    const Group& group = comparison.groups[i];
    entries.push_back(
        {"mean c" + std::to_string(i % kMostColours) + (group.is_baseline ? " baseline" : ""),
         "line", group.label + " (" + plural(group.runs.size(), "run") + ")"});
  }
  return legend(entries);
}

}  // namespace

Figure curves_figure(const Comparison& comparison) {
  Figure figure{"curves", "Accuracy and loss against samples, seconds and bytes", "", "", "", "",
                ""};
  if (!has_evaluations(comparison)) {
    figure.finding = "No evaluation was logged; --eval-every 1 logs one an epoch.";
    return figure;
  }
  const bool is_alone = comparison.groups.size() == 1 && comparison.groups[0].runs.size() == 1;
  figure.finding =
      is_alone ? finding_of_one(*comparison.groups[0].runs[0]) : comparison_finding(comparison);
  const std::array<std::pair<Against, const char*>, 3> kTabs{
      {{Against::samples, "samples"}, {Against::seconds, "seconds"}, {Against::bytes, "bytes"}}};
  figure.drawing = "<div class=\"tabs\">\n";
  for (const auto& [against, name] : kTabs)
    figure.drawing += "<section class=\"panel\" data-tab=\"" + std::string(name) +
                      "\"><h4>Against " + name + "</h4>\n<div class=\"scroll\">" +
                      drawing_of(comparison, against, is_alone) + "</div></section>\n";
  figure.drawing += "</div>\n" + legend_of(comparison, is_alone);
  figure.note =
      "Evaluations on the way, on the test examples of --eval-every; what the peers ended with, on "
      "all of them, is in the sentence above. Samples between the ends of blocks are interpolated.";
  for (const Group& group : comparison.groups) {
    const RunFacts& run = *group.runs.front();
    if (run.transfers.empty() && run.result && run.result->wire_bytes.value_or(0.0) > 0.0)
      figure.note += " " + run.name +
                     " logs no single transfers: its bytes are taken as sent evenly over time.";
  }
  if (comparison.groups.size() > kMostColours)
    figure.note += " From the eighth configuration on, colours come again.";
  if (!is_alone)
    figure.note +=
        " Thin lines are single runs; bands reach from the lowest to the highest run (10th to 90th "
        "percentile from five runs on). Baselines are dashed.";
  figure.table = table_of(comparison, is_alone);
  return figure;
}

}  // namespace hearsay::runtime::report
