// SPDX-License-Identifier: Apache-2.0
// Figure 2: peers on a circle, an edge a pair that merged, as wide as the bytes between them. The
// drawing shows the end of the run; graph.js moves it to any time.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "runtime/config/protocol_kinds.hpp"
#include "runtime/report/event_fields.hpp"
#include "runtime/report/figures.hpp"
#include "runtime/report/series.hpp"
#include "runtime/report/spread.hpp"
#include "runtime/report/svg.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr std::size_t kMostMerges = 8000, kMostEvaluations = 6000, kMostRows = 1000,
                      kMostEdges = 4000;
constexpr std::size_t kColours = 5;
constexpr double kHeight = 560.0, kCenterX = 320.0, kCenterY = 280.0, kRadius = 225.0;
constexpr double kThinnest = 0.6;
constexpr std::size_t kDense = 200;  // edges: from here on they are drawn fainter

struct Place {
  double x, y, cos, sin;
};

Place place_of(std::size_t peer, std::size_t peers) {
  const double turn =
      static_cast<double>(peer) / static_cast<double>(std::max<std::size_t>(1, peers));
  const double angle = 2.0 * std::numbers::pi * turn - std::numbers::pi / 2.0;
  const double c = std::cos(angle), s = std::sin(angle);
  return {kCenterX + kRadius * c, kCenterY + kRadius * s, c, s};
}

// Wide enough to tell weights apart, narrow enough that neighbours' edges do not merge.
double thickest_of(std::size_t peers) {
  return std::clamp(150.0 / static_cast<double>(std::max<std::size_t>(1, peers)), 2.0, 7.0);
}

// Thresholds between colours: every colour gets as many evaluations.
std::vector<double> thresholds_of(const RunFacts& facts) {
  std::vector<double> accuracies;
  for (const Evaluation& e : facts.evaluations) {
    if (e.accuracy) accuracies.push_back(*e.accuracy);
  }
  std::vector<double> thresholds;
  if (accuracies.empty()) return thresholds;
  for (std::size_t i = 1; i < kColours; ++i)
    thresholds.push_back(quantile(accuracies, static_cast<double>(i) / kColours));
  return thresholds;
}

std::string colour_class(double accuracy, const std::vector<double>& thresholds) {
  std::size_t colour = 0;
  while (colour < thresholds.size() && accuracy >= thresholds[colour]) ++colour;
  return "acc" + std::to_string(colour);
}

std::vector<std::optional<double>> last_accuracies(const RunFacts& facts) {
  std::vector<std::optional<double>> last(facts.peers.size());
  for (const Evaluation& e : facts.evaluations) {
    if (e.accuracy) last[e.peer] = e.accuracy;
  }
  return last;
}

struct Edge {
  double bytes = 0.0;
  std::size_t merges = 0;
};
using Edges = std::map<std::pair<PeerIndex, PeerIndex>, Edge>;  // smaller index first

Edges edges_of(const std::vector<PairTraffic>& pairs) {
  Edges edges;
  for (const PairTraffic& pair : pairs) {
    if (pair.merges == 0) continue;
    if (edges.size() == kMostEdges && !edges.contains(std::minmax(pair.from, pair.to))) continue;
    Edge& edge = edges[std::minmax(pair.from, pair.to)];
    edge.bytes += pair.bytes;
    edge.merges += pair.merges;
  }
  return edges;
}

void draw_edges(const RunFacts& facts, const Edges& edges, Drawing& d) {
  std::size_t most = 1;
  for (const auto& [pair, edge] : edges) most = std::max(most, edge.merges);
  const double thickest = thickest_of(facts.peers.size());
  d.open_group(
      edges.size() > kDense ? "edges dense" : "edges",
      "data-most=\"" + std::to_string(most) + "\" data-thickest=\"" + coordinate(thickest) + "\"");
  for (const auto& [pair, edge] : edges) {
    const Place a = place_of(pair.first, facts.peers.size()),
                b = place_of(pair.second, facts.peers.size());
    const double width =
        kThinnest + (thickest - kThinnest) *
                        std::sqrt(static_cast<double>(edge.merges) / static_cast<double>(most));
    // Bent towards the middle, so that neighbours' edges stay inside the circle.
    const double x = (a.x + b.x) / 2 * 0.75 + kCenterX * 0.25,
                 y = (a.y + b.y) / 2 * 0.75 + kCenterY * 0.25;
    d.path("M" + coordinate(a.x) + " " + coordinate(a.y) + "Q" + coordinate(x) + " " +
               coordinate(y) + " " + coordinate(b.x) + " " + coordinate(b.y),
           "edge",
           facts.peer_name(pair.first) + " and " + facts.peer_name(pair.second) + ": " +
               plural(edge.merges, "merge") + ", " + bytes_text(edge.bytes),
           "data-e=\"" + std::to_string(pair.first) + "-" + std::to_string(pair.second) +
               "\" stroke-width=\"" + coordinate(width) + "\"");
  }
  d.close_group();
}

void draw_nodes(const RunFacts& facts, const std::vector<double>& thresholds, Drawing& d) {
  const auto last = last_accuracies(facts);
  const std::size_t peers = facts.peers.size();
  const double radius =
      std::clamp(420.0 / static_cast<double>(std::max<std::size_t>(1, peers)), 7.0, 20.0);
  for (PeerIndex peer = 0; peer < peers; ++peer) {
    const Place at = place_of(peer, peers);
    const bool dead = facts.is_dead(peer);
    std::string title = facts.peer_name(peer) + (dead ? ", dead" : "");
    if (last[peer]) title += ", accuracy " + percent(*last[peer]);
    d.open_group("node", "tabindex=\"0\" data-p=\"" + std::to_string(peer) + "\" aria-label=\"" +
                             escape(title) + "\" role=\"img\"");
    const std::string colour = last[peer] ? colour_class(*last[peer], thresholds) : "acc-none";
    d.circle(at.x, at.y, radius, dead ? "dot dead" : "dot " + colour, title);
    const Drawing::Anchor anchor = at.cos > 0.3    ? Drawing::Anchor::start
                                   : at.cos < -0.3 ? Drawing::Anchor::end
                                                   : Drawing::Anchor::middle;
    d.text(at.x + at.cos * (radius + 5), at.y + at.sin * (radius + 11) + 4.5,
           facts.peer_name(peer).substr(0, 8), dead ? "name dead" : "name", anchor);
    d.close_group();
  }
}

// What the picture shows right now, and what its colours mean.
void draw_panel(const RunFacts& facts, const std::vector<double>& thresholds, Drawing& d) {
  const double x = 640.0;
  std::size_t applied = 0, dead = 0;
  for (const Merge& merge : facts.merges) applied += merge.applied;
  for (PeerIndex peer = 0; peer < facts.peers.size(); ++peer) dead += facts.is_dead(peer);
  d.text(x, 80, "at " + seconds_text(facts.end_s), "big", Drawing::Anchor::start,
         "data-now=\"time\"");
  d.text(x, 108, plural(applied, "merge") + " so far", "", Drawing::Anchor::start,
         "data-now=\"merges\"");
  d.text(x, 130,
         std::to_string(facts.peers.size() - dead) + " of " + plural(facts.peers.size(), "peer") +
             " alive",
         "", Drawing::Anchor::start, "data-now=\"alive\"");
  double y = 180.0;
  d.text(x, y, thresholds.empty() ? "no evaluation was logged" : "newest test accuracy", "label");
  for (std::size_t i = kColours; !thresholds.empty() && i-- > 0;) {
    y += 24.0;
    d.circle(x + 9, y - 4.5, 8, "dot acc" + std::to_string(i));
    const std::string low = i > 0 ? percent(thresholds[i - 1]) : "";
    const std::string high = i + 1 < kColours ? percent(thresholds[i]) : "";
    d.text(x + 26, y,
           low.empty()    ? "below " + high
           : high.empty() ? low + " and more"
                          : low + " to " + high);
  }
  y += 24.0;
  d.circle(x + 9, y - 4.5, 8, "dot acc-none");
  d.text(x + 26, y, "not evaluated yet");
  y += 24.0;
  d.circle(x + 9, y - 4.5, 8, "dot dead");
  d.text(x + 26, y, "dead");
  d.path("M" + coordinate(x) + " " + coordinate(y + 26) + "L" + coordinate(x + 18) + " " +
             coordinate(y + 26),
         "edge", {}, "stroke-width=\"5\"");
  d.text(x + 26, y + 31, "merges of a pair, by width");
  d.path("M" + coordinate(x) + " " + coordinate(y + 50) + "L" + coordinate(x + 18) + " " +
             coordinate(y + 50),
         "edge fresh", {}, "stroke-width=\"5\"");
  d.text(x + 26, y + 55, "merged just now");
}

double rounded_ms(double time_s) { return std::round(time_s * 1e4) / 1e4; }

std::string data_of(const RunFacts& facts, const std::vector<double>& thresholds,
                    std::size_t stride) {
  Json data = {{"end", rounded_ms(facts.end_s)}, {"stride", stride}, {"thresholds", thresholds}};
  Json merges = Json::array(), evaluations = Json::array(), lives = Json::array();
  for (std::size_t i = 0; i < facts.merges.size(); i += stride) {
    const Merge& m = facts.merges[i];
    if (m.applied) merges.push_back({rounded_ms(m.time_s), m.from, m.peer});
  }
  const std::size_t every = stride_for(facts.evaluations.size(), kMostEvaluations);
  for (std::size_t i = 0; i < facts.evaluations.size(); i += every) {
    const Evaluation& e = facts.evaluations[i];
    if (e.accuracy)
      evaluations.push_back({rounded_ms(e.time_s), e.peer, std::round(*e.accuracy * 1e4) / 1e4});
  }
  for (const Life& life : facts.lives) {
    // Who has said goodbye, or still runs, is alive to the end of the picture.
    const bool lived_on = life.left || !facts.is_dead(life.peer);
    lives.push_back({life.peer, rounded_ms(life.begin_s),
                     lived_on ? rounded_ms(facts.end_s) : rounded_ms(life.end_s)});
  }
  data["merges"] = std::move(merges);
  data["evaluations"] = std::move(evaluations);
  data["lives"] = std::move(lives);
  return data.dump();
}

std::string finding_of(const RunFacts& facts, const std::vector<PairTraffic>& pairs,
                       const Edges& edges) {
  const std::size_t peers = facts.peers.size();
  const Spread spread = spread_of(facts);
  std::string text;
  if (spread.complete_s) {
    text = "After " + seconds_text(*spread.complete_s) + " and " +
           plural(spread.merges_until_then, "merge") +
           ", what each peer had learned had reached every other.";
  } else {
    std::size_t dead = 0;
    for (PeerIndex peer = 0; peer < peers; ++peer) dead += facts.is_dead(peer);
    text = "What a peer had learned reached " +
           fixed(100.0 * static_cast<double>(spread.reached) /
                     static_cast<double>(std::max<std::size_t>(1, spread.pairs)),
                 0) +
           " % of all pairs of peers" +
           (dead > 0 ? "; " + plural(dead, "peer") + " died on the way" : "") + ".";
  }
  const std::size_t possible = peers * (peers - 1) / 2;
  text += (edges.size() == kMostEdges ? " At least " : " ") +
          count_text(static_cast<double>(edges.size())) + " of " + plural(possible, "pair") +
          " merged directly";
  const PairTraffic& busiest = pairs.front();
  text += "; most often " + facts.peer_name(busiest.to) + " took in " +
          facts.peer_name(busiest.from) + ", " + plural(busiest.merges, "time") + ".";
  return text;
}

}  // namespace

Figure graph_figure(const RunFacts& facts) {
  Figure figure{"graph", "How information spread", "", "", "", "", ""};
  const std::vector<PairTraffic> pairs = traffic_by_pair(facts);
  const Edges edges = edges_of(pairs);
  if (edges.empty()) {
    figure.finding =
        "No model was merged" +
        (is_baseline(facts.protocol) ? " under --protocol " + facts.protocol : std::string()) +
        ", so there is no graph; gossip protocols such as --protocol pairwise make one.";
    return figure;
  }
  const std::vector<double> thresholds = thresholds_of(facts);
  const std::size_t stride = stride_for(facts.merges.size(), kMostMerges);
  figure.finding = finding_of(facts, pairs, edges);
  Drawing d(kHeight, "Merge graph: peers on a circle, edges between those that merged", "graph");
  draw_edges(facts, edges, d);
  draw_nodes(facts, thresholds, d);
  draw_panel(facts, thresholds, d);
  figure.drawing = std::move(d).finish();
  figure.data = data_of(facts, thresholds, stride);
  figure.note =
      "Edges grow with the number of merges; the bytes of each pair are in the table. The "
      "animation "
      "counts " +
      stride_text(stride, "merge") + ".";
  TableText table({"from", "to", "merges", "refused", "bytes", "mean alpha"},
                  "Models taken in, by pair");
  for (const PairTraffic& pair : pairs) {
    if (table.rows() == kMostRows) break;
    table.row(
        {facts.peer_name(pair.from), facts.peer_name(pair.to), std::to_string(pair.merges),
         std::to_string(pair.refused), bytes_text(pair.bytes),
         pair.merges > 0 ? fixed(pair.alpha_sum / static_cast<double>(pair.merges), 3) : "–"});
  }
  if (edges.size() == kMostEdges)
    figure.note += " Drawn are the " + std::to_string(kMostEdges) + " busiest pairs.";
  if (pairs.size() > kMostRows)
    figure.note += " The table has the " + std::to_string(kMostRows) + " busiest of " +
                   plural(pairs.size(), "pair") + ".";
  figure.table = std::move(table).finish();
  return figure;
}

}  // namespace hearsay::runtime::report
