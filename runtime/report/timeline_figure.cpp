// SPDX-License-Identifier: Apache-2.0
// Figure 1: a lane a peer, blocks coloured by activity, arcs for merges, crosses for peers that
// were lost.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "runtime/report/activities.hpp"
#include "runtime/report/figures.hpp"
#include "runtime/report/plot.hpp"
#include "runtime/report/series.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr std::size_t kMostSpans = 3000, kMostArcs = 1200, kMostIncidents = 400;
constexpr double kLeft = 62.0, kRight = 20.0, kTop = 14.0;

struct Lanes {
  double height = 0.0;
  Scale time;
  double middle(PeerIndex peer) const { return kTop + (peer + 0.5) * height; }
  double bottom(std::size_t peers) const { return kTop + static_cast<double>(peers) * height; }
};

Lanes lanes_of(const RunFacts& facts) {
  Lanes lanes;
  const auto peers = static_cast<double>(std::max<std::size_t>(1, facts.peers.size()));
  lanes.height = std::clamp(640.0 / peers, peers <= 80.0 ? 12.0 : 7.0, 34.0);
  lanes.time = {0.0, std::max(facts.end_s, 1e-9), kLeft, kWidth - kRight};
  return lanes;
}

const char* class_of(Activity activity) {
  switch (activity) {
    case Activity::training: return "act-train";
    case Activity::slow: return "act-slow";
    case Activity::unfinished: return "act-cut";
    case Activity::waiting: return "act-wait";
    case Activity::serving: break;
  }
  return "act-serve";
}

std::string peer_attribute(PeerIndex peer) { return "data-p=\"" + std::to_string(peer) + "\""; }

std::string title_of(const Span& span, const RunFacts& facts, double median_s) {
  std::string title = facts.peer_name(span.peer) + " " + name_of(span.activity) + ", " +
                      seconds_text(span.begin_s) + " to " + seconds_text(span.end_s);
  if (span.blocks > 1) title += ", " + plural(span.blocks, "block");
  if (span.activity == Activity::slow)
    title += ", " + shortest(span.step_s / median_s) + " times the pool's median mini-batch";
  return span.line.empty() ? title : title + "\n" + span.line;
}

void draw_lanes(const RunFacts& facts, const Lanes& lanes, const Activities& all, Drawing& d) {
  // Narrow lanes leave room for every other name only.
  const std::size_t step = lanes.height >= 12.0 ? 1 : 2;
  auto span = all.spans.begin();
  const double bar = lanes.height * 0.62;
  for (PeerIndex peer = 0; peer < facts.peers.size(); ++peer) {
    const std::string name = escape(facts.peer_name(peer));
    d.open_group("lane", "tabindex=\"0\" role=\"group\" aria-label=\"" + name +
                             "; arrow keys go through its events\" " + peer_attribute(peer));
    d.rect(kLeft, lanes.middle(peer) - lanes.height / 2, kWidth - kRight - kLeft, lanes.height,
           "lane-box");
    if (peer % step == 0)
      d.text(kLeft - 8, lanes.middle(peer) + 4.2, facts.peer_name(peer).substr(0, 8),
             facts.is_dead(peer) ? "name dead" : "name", Drawing::Anchor::end);
    for (; span != all.spans.end() && span->peer == peer; ++span) {
      const double x = lanes.time.at(span->begin_s);
      const double width = std::max(0.6, lanes.time.at(span->end_s) - x - 0.6);
      d.rect(x, lanes.middle(peer) - bar / 2, width, bar, class_of(span->activity),
             title_of(*span, facts, all.median_step_s), "data-m");
    }
    d.close_group();
  }
}

// From the lane and time a model was sent to those of its merge, bent so that pairs can be told.
std::string arc_path(const Lanes& lanes, PeerIndex from, double sent_s, const Merge& merge) {
  const double x1 = lanes.time.at(sent_s), y1 = lanes.middle(from);
  const double x2 = lanes.time.at(merge.time_s), y2 = lanes.middle(merge.peer);
  const double bend = std::min(26.0, std::abs(y2 - y1) * 0.18);
  return "M" + coordinate(x1) + " " + coordinate(y1) + "Q" +
         coordinate(std::min((x1 + x2) / 2 + bend, kWidth - 2)) + " " + coordinate((y1 + y2) / 2) +
         " " + coordinate(x2) + " " + coordinate(y2);
}

std::size_t draw_arcs(const RunFacts& facts, const Lanes& lanes, Drawing& d) {
  std::map<std::tuple<PeerIndex, PeerIndex, std::uint64_t>, double> sent;
  for (const Transfer& t : facts.transfers) sent.emplace(std::tuple(t.from, t.to, t.seq), t.time_s);
  const std::size_t stride = stride_for(facts.merges.size(), kMostArcs);
  d.open_group(facts.merges.size() > 300 ? "arcs many" : "arcs");
  for (std::size_t i = 0; i < facts.merges.size(); i += stride) {
    const Merge& merge = facts.merges[i];
    const auto found = sent.find({merge.from, merge.peer, merge.seq});
    const double sent_s =
        found != sent.end() ? std::min(found->second, merge.time_s) : merge.time_s;
    d.path(arc_path(lanes, merge.from, sent_s, merge), merge.refused() ? "arc refused" : "arc",
           facts.peer_name(merge.peer) + (merge.refused() ? " refused " : " took in ") +
               facts.peer_name(merge.from) + " at " + seconds_text(merge.time_s) + "\n" +
               merge.line,
           peer_attribute(merge.peer) + " data-q=\"" + std::to_string(merge.from) + "\" data-m");
  }
  d.close_group();
  return stride;
}

void draw_cross(double x, double y, double r, const std::string& title, PeerIndex peer,
                Drawing& d) {
  d.path("M" + coordinate(x - r) + " " + coordinate(y - r) + "L" + coordinate(x + r) + " " +
             coordinate(y + r) + "M" + coordinate(x + r) + " " + coordinate(y - r) + "L" +
             coordinate(x - r) + " " + coordinate(y + r),
         "cross", title, peer_attribute(peer) + " data-m");
}

// Processes that ended without a goodbye: a cross where they were last heard.
void draw_ends(const RunFacts& facts, const Lanes& lanes, Drawing& d) {
  const double r = std::min(5.0, lanes.height * 0.38);
  d.open_group("ends");
  for (std::size_t i = 0; i < facts.lives.size(); ++i) {
    const Life& life = facts.lives[i];
    const bool is_last = i + 1 == facts.lives.size() || facts.lives[i + 1].peer != life.peer;
    if (life.left || (is_last && !facts.is_dead(life.peer))) continue;
    draw_cross(lanes.time.at(life.end_s), lanes.middle(life.peer), r,
               facts.peer_name(life.peer) + ": last sign of life at " + seconds_text(life.end_s) +
                   (is_last ? "" : "; it was started again later") + "\n" + life.last_line,
               life.peer, d);
  }
  std::size_t drawn = 0;
  for (const Incident& i : facts.incidents) {
    if (++drawn > kMostIncidents) break;
    d.circle(lanes.time.at(i.time_s), lanes.middle(i.observer), std::min(3.0, lanes.height * 0.25),
             "incident",
             facts.peer_name(i.observer) + " at " + seconds_text(i.time_s) + ": " + i.kind +
                 (i.who != i.observer ? " " + facts.peer_name(i.who) : "") + ", " + i.text + "\n" +
                 i.line,
             peer_attribute(i.observer) + " data-m");
  }
  d.close_group();
}

void draw_time_axis(const Lanes& lanes, std::size_t peers, bool is_virtual, Drawing& d) {
  Plot plot;
  plot.x = lanes.time;
  plot.y = {0.0, 0.0, lanes.bottom(peers), lanes.bottom(peers)};
  plot.x_unit = Unit::seconds;
  const double high = lanes.time.high;
  const double size = high >= 7200.0 ? 3600.0 : high >= 180.0 ? 60.0 : high >= 1.0 ? 1.0 : 1e-3;
  const auto ticks = round_ticks(0.0, high / size, 8);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 0.0;
  const double y = lanes.bottom(peers);
  d.line(kLeft, y, kWidth - kRight, y, "axis");
  for (const double tick : ticks) {
    const double x = lanes.time.at(tick * size);
    d.line(x, y, x, y + 5, "axis");
    d.text(x, y + 19, tick_text(tick, step, Unit::seconds), "tick", Drawing::Anchor::middle);
  }
  d.text(kWidth - kRight, y + 38,
         std::string(is_virtual ? "virtual time" : "time") + " (" +
             unit_suffix(high, Unit::seconds) + ")",
         "label", Drawing::Anchor::end);
}

std::size_t merges_after(const RunFacts& facts, double time_s) {
  return static_cast<std::size_t>(
      std::count_if(facts.merges.begin(), facts.merges.end(),
                    [&](const Merge& m) { return m.applied && m.time_s > time_s; }));
}

std::string finding_of(const RunFacts& facts, const Activities& all) {
  std::vector<std::string> dead, reborn;
  double first_s = facts.end_s;
  for (PeerIndex peer = 0; peer < facts.peers.size(); ++peer) {
    if (!facts.is_dead(peer)) continue;
    dead.push_back(facts.peer_name(peer));
    first_s = std::min(first_s, facts.last_sign_s(peer));
  }
  for (std::size_t i = 1; i < facts.lives.size(); ++i) {
    if (facts.lives[i].peer == facts.lives[i - 1].peer && !facts.lives[i - 1].left)
      reborn.push_back(facts.peer_name(facts.lives[i].peer));
  }
  std::string text;
  if (dead.size() == 1) {
    text = "Peer " + dead[0] + " died (last sign of life at " + seconds_text(first_s) +
           "); the others merged " + plural(merges_after(facts, first_s), "time") + " after that.";
  } else if (!dead.empty()) {
    text = std::to_string(dead.size()) + " of " + plural(facts.peers.size(), "peer") + " died (" +
           list_text(dead) + "), the first at " + seconds_text(first_s) + "; the pool merged " +
           plural(merges_after(facts, first_s), "time") + " after that.";
  }
  if (!reborn.empty()) {
    std::sort(reborn.begin(), reborn.end());
    reborn.erase(std::unique(reborn.begin(), reborn.end()), reborn.end());
    text += (text.empty() ? "" : " ") + list_text(reborn) +
            (reborn.size() == 1 ? " was" : " were") + " killed and came back.";
  }
  std::map<Activity, double> time_s;
  const Span* slowest = nullptr;
  double total_s = 0.0;
  for (const Span& span : all.spans) {
    time_s[span.activity] += span.end_s - span.begin_s;
    total_s += span.end_s - span.begin_s;
    if (span.activity == Activity::slow && (slowest == nullptr || span.step_s > slowest->step_s))
      slowest = &span;
  }
  if (text.empty())
    text = "All " + plural(facts.peers.size(), "peer") + " lived to the last event.";
  const double trained = time_s[Activity::training] + time_s[Activity::slow];
  if (total_s > 0.0)
    text += " Whole blocks of training fill " + fixed(100.0 * trained / total_s, 0) +
            "\u00a0% of the peers' time, waiting " +
            fixed(100.0 * time_s[Activity::waiting] / total_s, 0) +
            "\u00a0%, answering others at the end " +
            fixed(100.0 * time_s[Activity::serving] / total_s, 0) + "\u00a0%.";
  if (slowest != nullptr)
    text += " The slowest block was that of " + facts.peer_name(slowest->peer) + " up to " +
            seconds_text(slowest->end_s) + ": " + shortest(slowest->step_s / all.median_step_s) +
            " times the median mini-batch.";
  return text;
}

std::string table_of(const RunFacts& facts, const Activities& all) {
  TableText table(
      {"peer", "starts", "blocks", "samples", "training", "merges", "refused", "last sign", "end"},
      "What each peer did");
  for (PeerIndex peer = 0; peer < facts.peers.size(); ++peer) {
    std::size_t starts = 0, blocks = 0, merges = 0, refused = 0;
    double trained_s = 0.0, lived_s = 0.0, samples = 0.0;
    for (const Life& life : facts.lives) starts += life.peer == peer;
    for (const Block& block : facts.blocks) {
      if (block.peer != peer) continue;
      ++blocks;
      samples = std::max(samples, static_cast<double>(block.samples));
    }
    for (const Span& span : all.spans) {
      if (span.peer != peer) continue;
      lived_s += span.end_s - span.begin_s;
      if (span.blocks > 0) trained_s += span.end_s - span.begin_s;
    }
    for (const Merge& merge : facts.merges) {
      if (merge.peer != peer) continue;
      merges += merge.applied;
      refused += merge.refused();
    }
    const Peer& p = facts.peers[peer];
    const std::string end = !p.reason.empty() ? p.reason : facts.is_dead(peer) ? "lost" : "–";
    table.row({p.name, std::to_string(starts), std::to_string(blocks),
               count_text(p.samples.value_or(samples)),
               lived_s > 0.0 ? fixed(100.0 * trained_s / lived_s, 0) + " %" : "–",
               std::to_string(merges), std::to_string(refused),
               seconds_text(facts.last_sign_s(peer)), end});
  }
  return std::move(table).finish();
}

}  // namespace

Figure timeline_figure(const RunFacts& facts) {
  Figure figure{"timeline", "Who trained, who waited, who talked, who died", "", "", "", "", ""};
  const std::size_t peers = std::max<std::size_t>(1, facts.peers.size());
  const Activities all = activities_of(facts, std::max<std::size_t>(4, kMostSpans / peers));
  const Lanes lanes = lanes_of(facts);
  figure.finding = finding_of(facts, all);
  Drawing d(lanes.bottom(peers) + 46, "Timeline: a lane a peer", "timeline");
  draw_lanes(facts, lanes, all, d);
  const std::size_t stride = draw_arcs(facts, lanes, d);
  draw_ends(facts, lanes, d);
  draw_time_axis(lanes, peers, facts.is_virtual, d);
  figure.drawing = std::move(d).finish() + legend({{"act-train", "bar", "training"},
                                                   {"act-slow", "bar", "slow training"},
                                                   {"act-cut", "bar", "block not finished"},
                                                   {"act-wait", "bar", "waiting"},
                                                   {"act-serve", "bar", "answering others"},
                                                   {"arc", "line", "merge"},
                                                   {"arc refused", "dash", "refused"},
                                                   {"incident", "dot", "fault or loss noticed"},
                                                   {"cross", "cross", "last sign of life"}});
  figure.note =
      "Arcs lead from the sender's lane, when its model went, to the receiver's, when it "
      "was merged: " +
      stride_text(stride, "merge") + " is drawn.";
  if (all.blocks_a_span > 1)
    figure.note += " A bar stands for " + std::to_string(all.blocks_a_span) + " blocks.";
  if (facts.incidents.size() > kMostIncidents)
    figure.note += " Of " + plural(facts.incidents.size(), "fault") + " the first " +
                   std::to_string(kMostIncidents) + " are marked.";
  figure.table = table_of(facts, all);
  return figure;
}

}  // namespace hearsay::runtime::report
