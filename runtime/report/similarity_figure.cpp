// SPDX-License-Identifier: Apache-2.0
// Figure 5: how far apart peers train, a row and a column a peer, in the order of the tree that
// stands beside it; the pool at two earlier instants in the same order. What the split of the data
// made and what the pool found stand as bars beside the names.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/report/figures.hpp"
#include "runtime/report/kinship.hpp"
#include "runtime/report/series.hpp"
#include "runtime/report/similarity_map.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr double kTop = 26.0, kNames = 58.0, kBar = 9.0, kSide = 430.0, kTreeWidth = 104.0,
                 kSmall = 196.0;
constexpr double kMapX = kNames + 2.0 * (kBar + 3.0) + 2.0;
constexpr double kTreeX = kMapX + kSide + 8.0, kSmallX = kTreeX + kTreeWidth + 32.0;

struct Pool {
  const RunFacts& facts;
  std::vector<double> instants;
  clustering::Distances last;
  clustering::Tree tree;
  std::vector<PeerIndex> order;
  Communities communities;
  std::vector<std::uint32_t> groups;
};

double row_height(const Pool& pool) { return kSide / static_cast<double>(pool.order.size()); }

void draw_names(const Pool& pool, Drawing& d) {
  const double height = row_height(pool);
  const auto stride = static_cast<std::size_t>(std::ceil(12.5 / height));
  for (std::size_t row = 0; row < pool.order.size(); row += std::max<std::size_t>(1, stride)) {
    const bool dead = pool.facts.is_dead(pool.order[row]);
    const double middle = kTop + (static_cast<double>(row) + 0.5) * height;
    d.text(kNames - 8.0, std::max(middle, kTop + 5.0) + 4.2,
           pool.facts.peer_name(pool.order[row]).substr(0, 8), dead ? "name dead" : "name",
           Drawing::Anchor::end);
  }
}

// Neighbours of one label are one box.
void draw_bar(const Pool& pool, const std::vector<std::uint32_t>& labels, double x,
              const std::string& what, Drawing& d) {
  if (labels.empty()) return;
  const double height = row_height(pool);
  for (std::size_t begin = 0, end = 0; begin < pool.order.size(); begin = end) {
    const std::uint32_t label = labels[pool.order[begin]];
    for (end = begin + 1; end < pool.order.size() && labels[pool.order[end]] == label;) ++end;
    d.rect(x, kTop + static_cast<double>(begin) * height, kBar,
           static_cast<double>(end - begin) * height - 0.8, colour_class(label),
           what + " " + community_name(label) + ": " + plural(end - begin, "peer"), "data-m");
  }
}

// Leaves at the left, at the rows; joins at the height at which they were made. Parts of which no
// distance is known stay apart.
void draw_tree(const Pool& pool, Drawing& d) {
  const clustering::Tree& tree = pool.tree;
  const std::size_t joins = tree.finite_merges();
  double highest = 0.0;
  for (std::size_t i = 0; i < joins; ++i) highest = std::max(highest, tree.merges[i].height);
  const double scale = highest > 0.0 ? (kTreeWidth - 4.0) / highest : 0.0;
  struct Part {
    double x, y;
    std::optional<std::uint32_t> community;  // of all its peers, where they have one
  };
  std::vector<Part> parts(tree.peers);
  for (std::size_t row = 0; row < pool.order.size(); ++row) {
    const PeerIndex peer = pool.order[row];
    parts[peer] = {kTreeX, kTop + (static_cast<double>(row) + 0.5) * row_height(pool), {}};
    if (!pool.communities.label.empty()) parts[peer].community = pool.communities.label[peer];
  }
  for (std::size_t i = 0; i < joins; ++i) {
    const clustering::Merge& join = tree.merges[i];
    const Part a = parts[join.a], b = parts[join.b];
    const double x = kTreeX + 2.0 + join.height * scale;
    const bool same = a.community && a.community == b.community;
    PathText line;
    line.add(a.x, a.y);
    line.add(x, a.y);
    line.add(x, b.y);
    line.add(b.x, b.y);
    d.path(line.text(), same ? "branch of-" + colour_class(*a.community) : "branch",
           plural(join.size, "peer") + " joined " + fixed(join.height, 2) + " apart", "data-m");
    parts.push_back({x, (a.y + b.y) / 2.0, same ? a.community : std::nullopt});
  }
  d.text(kTreeX, kTop + kSide + 17.0, "0", "tick");
  d.text(kTreeX + kTreeWidth, kTop + kSide + 17.0, fixed(highest, 2), "tick", Drawing::Anchor::end);
}

struct Means {  // of pairs in one community, and in two
  double inside = 0.0, outside = 0.0;
  std::size_t inside_count = 0, outside_count = 0;
};

// Of the pairs i, j with i = `from` or, where that is nobody, any.
Means means_of(const Pool& pool, PeerIndex from = kNobody) {
  Means m;
  const auto n = static_cast<PeerIndex>(pool.order.size());
  const bool all = from == kNobody;
  for (PeerIndex i = all ? 0 : from; i < (all ? n : from + 1); ++i) {
    for (PeerIndex j = all ? i + 1 : 0; j < n; ++j) {
      if (j == i || !std::isfinite(pool.last(i, j))) continue;
      const bool same =
          pool.communities.label.empty() || pool.communities.label[i] == pool.communities.label[j];
      (same ? m.inside : m.outside) += pool.last(i, j);
      ++(same ? m.inside_count : m.outside_count);
    }
  }
  if (m.inside_count > 0) m.inside /= static_cast<double>(m.inside_count);
  if (m.outside_count > 0) m.outside /= static_cast<double>(m.outside_count);
  return m;
}

std::string finding_of(const Pool& pool) {
  const Means m = means_of(pool);
  std::string text;
  if (m.outside_count > 0 && m.inside_count > 0) {
    text = "At the end peers of one community stood " + fixed(m.inside, 2) +
           " apart on average, peers of different ones " + fixed(m.outside, 2);
  } else {
    text = "At the end two peers stood " + fixed(m.inside_count > 0 ? m.inside : m.outside, 2) +
           " apart on average, and the pool " +
           (pool.communities.count == 1 ? "was one community" : "had no communities of several");
  }
  text +=
      " (1 - cosine of the directions in which they train, less the pool's mean: 0 the same, 1 "
      "unrelated, 2 opposite).";
  std::size_t unknown = 0;
  for (const double d : pool.last.values()) unknown += std::isfinite(d) ? 0 : 1;
  if (unknown > 0) text += " Of " + plural(unknown, "pair") + " nothing is known.";
  return text;
}

std::string table_of(const Pool& pool) {
  TableText table({"peer", "community", "group of the split", "nearest", "distance",
                   "mean in its community", "mean outside"},
                  "Distances at the end");
  const auto label = [](const std::vector<std::uint32_t>& labels, PeerIndex peer) {
    return labels.empty() ? std::string("–") : community_name(labels[peer]);
  };
  for (const PeerIndex peer : pool.order) {
    PeerIndex nearest = kNobody;
    for (PeerIndex j = 0; j < pool.order.size(); ++j) {
      if (j == peer || !std::isfinite(pool.last(peer, j))) continue;
      if (nearest == kNobody || pool.last(peer, j) < pool.last(peer, nearest)) nearest = j;
    }
    const Means m = means_of(pool, peer);
    const bool known = nearest != kNobody;
    table.row({pool.facts.peer_name(peer), label(pool.communities.label, peer),
               label(pool.groups, peer), known ? pool.facts.peer_name(nearest) : "–",
               known ? fixed(pool.last(peer, nearest), 3) : "–",
               m.inside_count > 0 ? fixed(m.inside, 3) : "–",
               m.outside_count > 0 ? fixed(m.outside, 3) : "–"});
  }
  return std::move(table).finish();
}

std::string drawing_of(const Pool& pool) {
  Drawing d(kTop + kSide + 26.0, "How far apart peers train, in the order of a tree", "similarity");
  std::vector<clustering::Distances> all;
  ShadeRange range;
  for (const double time_s : pool.instants) all.push_back(distances_at(pool.facts, time_s));
  for (const clustering::Distances& distances : all) range.add(distances);
  draw_names(pool, d);
  draw_bar(pool, pool.groups, kNames, "group", d);
  draw_bar(pool, pool.communities.label, kNames + kBar + 3.0, "community", d);
  d.text(kMapX, kTop - 8.0, "at the end, " + seconds_text(pool.instants.back()), "label");
  const SimilarityMap map(all.back(), pool.order);
  map.draw(range, {kMapX, kTop, kSide}, &pool.facts, d);
  d.text(kTreeX, kTop - 8.0, "joined at distance", "label");
  draw_tree(pool, d);
  for (std::size_t i = 0; i + 1 < pool.instants.size(); ++i) {
    const double y = kTop + static_cast<double>(i) * (kSide - kSmall);
    d.text(kSmallX, y - 8.0,
           (i == 0 ? "most have looked, " : "half-way, ") + seconds_text(pool.instants[i]),
           "label");
    SimilarityMap(all[i], pool.order).draw(range, {kSmallX, y, kSmall}, nullptr, d);
  }
  std::vector<LegendEntry> entries{{"lv7", "bar", fixed(range.near, 2) + " apart"},
                                   {"lv4", "bar", fixed((range.near + range.far) / 2.0, 2)},
                                   {"lv0", "bar", fixed(range.far, 2)},
                                   {"unknown", "bar", "not known"}};
  if (!pool.groups.empty()) entries.push_back({"k1", "bar", "first bar: group of the split"});
  entries.push_back(
      {"k1", "bar",
       std::string(pool.groups.empty() ? "bar" : "second bar") + " and branches: community"});
  return std::move(d).finish() + legend(entries);
}

}  // namespace

Figure similarity_figure(const RunFacts& facts) {
  Figure figure{"similarity", "Who trains alike", "", "", "", "", ""};
  Pool pool{facts, instants_of(facts), {}, {}, {}, communities_of(facts), groups_of(facts)};
  if (pool.instants.empty() || facts.peers.size() < 2) {
    figure.finding =
        "No distances between peers were logged. With --cluster agglo, in pools of four and more, "
        "peers sketch the direction in which they train, and log how far apart they are.";
    return figure;
  }
  pool.last = distances_at(facts, pool.instants.back());
  pool.tree = tree_of(facts, pool.last);
  pool.order = order_of(pool.tree);
  figure.finding = finding_of(pool);
  figure.drawing = drawing_of(pool);
  figure.table = table_of(pool);
  figure.note =
      "By each peer's newest sketches at the instant; where two peers saw their distance "
      "differently, the mean. Rows and columns of all maps are in the order of the tree at the "
      "end.";
  const std::size_t stride = (facts.peers.size() + kMostCells - 1) / kMostCells;
  if (stride > 1)
    figure.note += " A cell is the mean over " + std::to_string(stride) + " by " +
                   std::to_string(stride) + " peers.";
  return figure;
}

}  // namespace hearsay::runtime::report
