// SPDX-License-Identifier: Apache-2.0
// Figure 6: in which community each peer saw itself, a row a peer, over the run; below, how clear
// the communities were and how much of them lasted from one round to the next. Peers number their
// communities each for itself, so a row is coloured by which of the pool's communities at the end
// its own one overlaps most; every change of members begins a new box.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/report/figures.hpp"
#include "runtime/report/kinship.hpp"
#include "runtime/report/plot.hpp"
#include "runtime/report/series.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr double kLeft = 62.0, kRight = 20.0, kTop = 26.0;
constexpr std::size_t kMostBoxes = 12000, kMostTitles = 2000;
constexpr double kLeastOverlap = 0.5;  // of members (Jaccard), to count as one of the pool's

struct Ribbon {  // a stretch in which a peer's community had the same members
  PeerIndex peer = 0;
  double begin = 0.0, end = 0.0;  // on the axis
  std::string css, words;
};

// Epochs of each peer, or seconds where shards are not known.
struct Axis {
  bool in_epochs = true;
  double end = 0.0;
  double at(const RunFacts& facts, const View& view) const {
    return in_epochs ? view.samples / *facts.peers[view.peer].shard : view.time_s;
  }
};

Axis axis_of(const RunFacts& facts) {
  Axis axis;
  for (const View& view : facts.views) {
    const auto& shard = facts.peers[view.peer].shard;
    axis.in_epochs = axis.in_epochs && shard && *shard > 0.0;
  }
  if (!axis.in_epochs) axis.end = facts.end_s;
  for (const Block& block : facts.blocks) {
    const auto& shard = facts.peers[block.peer].shard;
    if (axis.in_epochs && shard && *shard > 0.0)
      axis.end = std::max(axis.end, static_cast<double>(block.samples) / *shard);
  }
  for (const View& view : facts.views) axis.end = std::max(axis.end, axis.at(facts, view));
  return axis;
}

using Members = std::vector<PeerIndex>;

Members members_of(const std::vector<std::uint32_t>& labels, PeerIndex peer) {
  Members members;
  for (PeerIndex j = 0; j < labels.size(); ++j) {
    if (labels[j] == labels[peer]) members.push_back(j);
  }
  return members;
}

// The pool's community that these overlap most, if by more than kLeastOverlap.
std::optional<std::uint32_t> nearest_of(const Members& members, const Communities& pool) {
  std::vector<std::size_t> common(pool.count, 0), size(pool.count, 0);
  for (const std::uint32_t label : pool.label) ++size[label];
  for (const PeerIndex peer : members) ++common[pool.label[peer]];
  std::optional<std::uint32_t> best;
  double most = kLeastOverlap;
  for (std::uint32_t label = 0; label < pool.count; ++label) {
    const double overlap = static_cast<double>(common[label]) /
                           static_cast<double>(members.size() + size[label] - common[label]);
    if (overlap <= most) continue;
    most = overlap;
    best = label;
  }
  return best;
}

std::string names_of(const Members& members, const RunFacts& facts) {
  std::vector<std::string> names;
  for (const PeerIndex peer : members) names.push_back(facts.peer_name(peer));
  return list_text(names, 8);
}

struct Ribbons {
  std::vector<std::vector<Ribbon>> rows;  // [peer]
  std::size_t boxes = 0, changes = 0, late_changes = 0;
};

// What a peer's community is called and coloured.
std::pair<std::string, std::string> look_of(const Members& members, const Communities& pool,
                                            const RunFacts& facts) {
  if (members.size() == facts.peers.size()) return {"k-all", "together with all"};
  const auto nearest = nearest_of(members, pool);
  if (!nearest) return {"k-other", "with " + names_of(members, facts)};
  return {colour_class(*nearest), community_name(*nearest) + ", with " + names_of(members, facts)};
}

Ribbons ribbons_of(const RunFacts& facts, const Communities& pool, const Axis& axis) {
  Ribbons out;
  out.rows.resize(facts.peers.size());
  std::map<PeerIndex, Members> before;
  for (const View& view : facts.views) {
    const double at = axis.at(facts, view);
    std::vector<Ribbon>& row = out.rows[view.peer];
    Members members = members_of(facts.partitions[view.partition], view.peer);
    if (!row.empty() && members == before[view.peer]) continue;
    if (!row.empty()) {
      row.back().end = at;
      ++out.changes;
      out.late_changes += at > axis.end / 2.0 ? 1 : 0;
    }
    auto [css, words] = look_of(members, pool, facts);
    row.push_back({view.peer, at, axis.end, std::move(css), std::move(words)});
    ++out.boxes;
    before[view.peer] = std::move(members);
  }
  return out;
}

// Boxes narrower than that are left to the one before, so that a pool that cannot make up its mind
// does not fill the page. Returns how many were.
std::size_t thin(Ribbons& ribbons, double least) {
  std::size_t left_out = 0;
  for (std::vector<Ribbon>& row : ribbons.rows) {
    std::vector<Ribbon> kept;
    for (Ribbon& ribbon : row) {
      if (!kept.empty() && ribbon.end - ribbon.begin < least) {
        kept.back().end = ribbon.end;
        ++left_out;
      } else {
        kept.push_back(std::move(ribbon));
      }
    }
    row = std::move(kept);
  }
  ribbons.boxes -= left_out;
  return left_out;
}

double row_height(std::size_t peers) {
  return std::clamp(440.0 / static_cast<double>(std::max<std::size_t>(1, peers)), 3.0, 24.0);
}

void draw_rows(const RunFacts& facts, const Ribbons& ribbons, const Axis& axis, Drawing& d) {
  const double height = row_height(facts.peers.size());
  const auto stride = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(12.5 / height)));
  const Scale x{0.0, axis.end, kLeft, kWidth - kRight};
  const bool titles = ribbons.boxes <= kMostTitles;
  const double gap = height > 6.0 ? 2.0 : 0.5;
  d.text(kLeft, kTop - 10.0, "community of each peer, as it saw it", "label");
  std::map<std::string, std::string> paths;  // by class, where boxes have no titles
  for (PeerIndex peer = 0; peer < facts.peers.size(); ++peer) {
    const double y = kTop + static_cast<double>(peer) * height;
    if (peer % stride == 0)
      d.text(kLeft - 8.0, std::max(y + height / 2.0, kTop + 5.0) + 4.2,
             facts.peer_name(peer).substr(0, 8), facts.is_dead(peer) ? "name dead" : "name",
             Drawing::Anchor::end);
    for (const Ribbon& ribbon : ribbons.rows[peer]) {
      const double from = x.at(ribbon.begin);
      const double width = std::max(0.4, x.at(ribbon.end) - from - 0.7);
      if (titles) {
        const std::string when =
            axis.in_epochs ? "epoch " + fixed(ribbon.begin, 1) + " to " + fixed(ribbon.end, 1)
                           : seconds_text(ribbon.begin) + " to " + seconds_text(ribbon.end);
        d.rect(from, y, width, height - gap, ribbon.css,
               facts.peer_name(peer) + ", " + when + ": " + ribbon.words, "data-m");
      } else {
        const std::string w = coordinate(width);
        paths[ribbon.css] += "M" + coordinate(from) + " " + coordinate(y) + "h" + w + "v" +
                             coordinate(height - gap) + "h-" + w + "z";
      }
    }
  }
  for (const auto& [css, path] : paths) d.path(path, css);
}

void draw_track(const std::vector<Curve>& curves, const std::string& colour,
                const std::string& words, const Plot& plot, Drawing& d) {
  const Band band = band_of(curves, 60);
  PathText line, area;
  for (std::size_t i = 0; i < band.x.size(); ++i) {
    line.add(plot.x.at(band.x[i]), plot.y.at(band.mean[i]));
    area.add(plot.x.at(band.x[i]), plot.y.at(band.high[i]));
  }
  for (std::size_t i = band.x.size(); i-- > 0;)
    area.add(plot.x.at(band.x[i]), plot.y.at(band.low[i]));
  if (line.empty()) return;
  area.close();
  d.path(area.text(), "band " + colour);
  d.path(line.text(), "mean " + colour, words);
}

void draw_clearness(const RunFacts& facts, const Axis& axis, double top, Drawing& d) {
  std::vector<Curve> silhouettes(facts.peers.size()), agreements(facts.peers.size());
  double low = 0.0;
  for (const View& view : facts.views) {
    const double x = axis.at(facts, view);
    if (view.silhouette) silhouettes[view.peer].push_back({x, *view.silhouette});
    if (view.agreement) agreements[view.peer].push_back({x, *view.agreement});
    low = std::min({low, view.silhouette.value_or(0.0), view.agreement.value_or(0.0)});
  }
  Plot plot = Plot::at(0.0, top, kWidth, 190.0);
  plot.x.high = axis.end;
  plot.x_label = axis.in_epochs ? "epochs of the peer" : facts.is_virtual ? "virtual time" : "time";
  plot.x_unit = axis.in_epochs ? Unit::number : Unit::seconds;
  plot.y.low = std::max(-1.0, low);
  plot.y_label = "how clear and how lasting, mean over peers";
  plot.draw_axes(d);
  draw_track(agreements, "c1", "adjusted Rand index with the round before", plot, d);
  draw_track(silhouettes, "c0", "silhouette", plot, d);
}

std::string sizes_text(const Communities& pool) {
  std::vector<std::size_t> size(pool.count, 0);
  for (const std::uint32_t label : pool.label) ++size[label];
  std::string text;
  for (std::size_t i = 0; i < size.size() && i < 8; ++i)
    text += (i > 0 ? ", " : "") + std::to_string(size[i]);
  return text + (size.size() > 8 ? ", …" : "");
}

std::string finding_of(const RunFacts& facts, const Communities& pool, const Ribbons& ribbons) {
  std::string text =
      "At the end " + std::to_string(pool.agreed) + " of " + plural(pool.told, "peer") + " saw ";
  text += pool.count == 1
              ? "one community of all"
              : std::to_string(pool.count) + " communities (" + sizes_text(pool) + " peers)";
  text += ".";
  const std::vector<std::uint32_t> groups = groups_of(facts);
  if (!groups.empty() && pool.label.size() == groups.size()) {
    std::map<std::uint32_t, std::uint32_t> numbers;
    std::vector<std::uint32_t> truth;
    for (const std::uint32_t group : groups)
      truth.push_back(
          numbers.emplace(group, static_cast<std::uint32_t>(numbers.size())).first->second);
    text += truth == pool.label ? " They are the groups of the split."
                                : " They are not the groups of the split.";
  }
  text += " Peers' own communities changed their members " + plural(ribbons.changes, "time") +
          " in all, " + std::to_string(ribbons.late_changes) + " of them in the second half.";
  return text;
}

std::string table_of(const RunFacts& facts, const Communities& pool, const Ribbons& ribbons) {
  TableText table({"peer", "community at the end", "changes", "first looked", "last change"},
                  "Communities");
  for (PeerIndex peer = 0; peer < facts.peers.size(); ++peer) {
    const std::vector<Ribbon>& row = ribbons.rows[peer];
    if (row.empty()) {
      table.row({facts.peer_name(peer), "–", "–", "–", "–"});
      continue;
    }
    table.row({facts.peer_name(peer), community_name(pool.label[peer]),
               std::to_string(row.size() - 1), fixed(row.front().begin, 1),
               row.size() > 1 ? fixed(row.back().begin, 1) : "–"});
  }
  return std::move(table).finish();
}

std::string legend_of(const Communities& pool) {
  std::vector<LegendEntry> entries;
  for (std::uint32_t label = 0; pool.count > 1 && label < pool.count && label < 8; ++label)
    entries.push_back({colour_class(label), "bar", "community " + community_name(label)});
  entries.push_back({"k-all", "bar", "all together"});
  entries.push_back({"k-other", "bar", "another grouping"});
  entries.push_back({"mean c0", "line", "silhouette"});
  entries.push_back({"mean c1", "line", "adjusted Rand index with the round before"});
  return legend(entries);
}

}  // namespace

Figure communities_figure(const RunFacts& facts) {
  Figure figure{"communities", "Who belongs together, and for how long", "", "", "", "", ""};
  const Communities pool = communities_of(facts);
  if (pool.told == 0) {
    figure.finding =
        "No communities were logged. With --cluster agglo, in pools of four and more, peers look "
        "for those that train alike and merge with them.";
    return figure;
  }
  const Axis axis = axis_of(facts);
  Ribbons ribbons = ribbons_of(facts, pool, axis);
  figure.finding = finding_of(facts, pool, ribbons);
  figure.table = table_of(facts, pool, ribbons);
  std::size_t left_out = 0;
  const double end = std::max(axis.end, 1e-9);
  for (double least = end / 800.0; ribbons.boxes > kMostBoxes && least < 2.0 * end; least *= 2.0)
    left_out += thin(ribbons, least);
  const double rows =
      kTop + row_height(facts.peers.size()) * static_cast<double>(facts.peers.size());
  Drawing d(rows + 14.0 + 190.0, "Communities of each peer over the run", "communities");
  draw_rows(facts, ribbons, axis, d);
  draw_clearness(facts, axis, rows + 14.0, d);
  figure.drawing = std::move(d).finish() + legend_of(pool);
  figure.note =
      "A row begins with the peer's first round; what it knows nothing of counts as its own. A new "
      "box begins wherever its community's members change, coloured by the pool's community at the "
      "end that it shares more than half of its members with.";
  if (pool.count > 8) figure.note += " Colours repeat after eight communities.";
  if (left_out > 0)
    figure.note += " " + plural(left_out, "short stay") + " were left out of the drawing.";
  return figure;
}

}  // namespace hearsay::runtime::report
