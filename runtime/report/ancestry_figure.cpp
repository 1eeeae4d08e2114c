// SPDX-License-Identifier: Apache-2.0
// Figure 8: the share of each shard in the final models: a row a peer, a column a shard, and above
// them the average model.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/report/figures.hpp"
#include "runtime/report/plot.hpp"
#include "runtime/report/series.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr std::size_t kMostCells = 10000, kMostRows = 128;
constexpr double kLeft = 62.0, kBars = 120.0;

struct Grid {
  double cell_width, cell_height, top;
  std::size_t row_stride, label_stride;
  double x(std::size_t column) const { return kLeft + static_cast<double>(column) * cell_width; }
  double y(std::size_t row) const { return top + static_cast<double>(row) * cell_height; }
};

Grid grid_of(std::size_t peers) {
  const auto n = static_cast<double>(peers);
  Grid grid{};
  grid.cell_width = std::min(90.0, (kWidth - kLeft - 14.0) / n);
  grid.cell_height = std::clamp(520.0 / n, 12.0, 34.0);
  grid.top = kBars + 34.0;
  grid.row_stride = stride_for(peers * peers, kMostCells);
  grid.row_stride = std::max(grid.row_stride, stride_for(peers, kMostRows));
  grid.label_stride =
      grid.cell_width >= 27.0 ? 1 : static_cast<std::size_t>(27.0 / grid.cell_width) + 1;
  return grid;
}

double highest_share(const RunFacts& facts) {
  double highest = 0.0;
  for (const Ancestors& model : facts.ancestors) {
    for (const double share : model.shares) highest = std::max(highest, share);
  }
  return std::max(highest, 1e-9);
}

// The average model: a bar a shard, and what an even share would be.
void draw_pool(const RunFacts& facts, const Grid& grid, Drawing& d) {
  const std::vector<double>& shares = facts.pool_ancestors->shares;
  const double even = 1.0 / static_cast<double>(shares.size());
  double high = even;
  for (const double share : shares) high = std::max(high, share);
  const Scale scale{0.0, high * 1.1, kBars, 26.0};
  const auto ticks = round_ticks(0.0, scale.high * 100.0, 4);
  for (const double tick : ticks) {
    const double y = scale.at(tick / 100.0);
    d.line(kLeft, y, grid.x(shares.size()), y, "grid");
    d.text(kLeft - 8, y + 4.5, tick_text(tick, ticks.size() > 1 ? ticks[1] : 1.0, Unit::percent),
           "tick", Drawing::Anchor::end);
  }
  d.text(kLeft, 14, "share in the average of all models (%)", "label");
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double y = scale.at(shares[i]);
    d.rect(grid.x(i) + grid.cell_width * 0.12, y, grid.cell_width * 0.76, kBars - y, "share",
           "shard of " + facts.peers[i].name + ": " + percent(shares[i]) + " of the average model",
           "data-m");
  }
  d.line(kLeft, scale.at(even), grid.x(shares.size()), scale.at(even), "even");
}

std::size_t draw_map(const RunFacts& facts, const Grid& grid, Drawing& d) {
  const double highest = highest_share(facts);
  std::size_t rows = 0;
  for (std::size_t peer = 0; peer < facts.peers.size(); peer += grid.row_stride, ++rows) {
    const bool dead = facts.is_dead(static_cast<PeerIndex>(peer));
    d.text(kLeft - 8, grid.y(rows) + grid.cell_height / 2 + 4.2,
           facts.peers[peer].name.substr(0, 8), dead ? "name dead" : "name", Drawing::Anchor::end);
    const Ancestors& model = facts.ancestors[peer];
    for (std::size_t shard = 0; shard < model.shares.size(); ++shard) {
      if (model.shares[shard] < 5e-4) continue;  // below a twentieth of a percent
      const double opacity = 0.04 + 0.96 * std::sqrt(model.shares[shard] / highest);
      d.rect(grid.x(shard), grid.y(rows), grid.cell_width - 0.5, grid.cell_height - 0.5, "heat",
             facts.peers[peer].name + ": " + percent(model.shares[shard]) + " from the shard of " +
                 facts.peers[shard].name,
             "data-m fill-opacity=\"" + fixed(opacity, 2) + "\"");
    }
  }
  d.rect(kLeft, grid.top, grid.x(facts.peers.size()) - kLeft,
         static_cast<double>(rows) * grid.cell_height, "heat-box");
  const double bottom = grid.y(rows) + 17.0;
  for (std::size_t shard = 0; shard < facts.peers.size(); shard += grid.label_stride)
    d.text(grid.x(shard) + grid.cell_width / 2, bottom, facts.peers[shard].name.substr(0, 8),
           "tick", Drawing::Anchor::middle);
  d.text(grid.x(facts.peers.size()), bottom + 18.0, "shard of", "label", Drawing::Anchor::end);
  d.text(kLeft, grid.top - 9.0, "share in the model of each peer (row)", "label");
  return rows;
}

std::string finding_of(const RunFacts& facts) {
  const std::vector<double>& pool = facts.pool_ancestors->shares;
  const auto [least, most] = std::minmax_element(pool.begin(), pool.end());
  const auto name_at = [&](auto at) {
    return facts.peers[static_cast<std::size_t>(at - pool.begin())].name;
  };
  std::vector<double> own, effective;
  for (PeerIndex peer = 0; peer < facts.peers.size(); ++peer) {
    if (facts.ancestors[peer].shares.empty() || facts.is_dead(peer)) continue;
    own.push_back(facts.ancestors[peer].shares[peer]);
    effective.push_back(facts.ancestors[peer].effective_shards);
  }
  std::string text = "Of the average model, " + percent(*most) + " comes from the shard of " +
                     name_at(most) + " and " + percent(*least) + " from that of " + name_at(least) +
                     " (even would be " + percent(1.0 / static_cast<double>(pool.size())) + ").";
  if (!own.empty())
    text += " A living peer's own shard makes up " + percent(quantile(own, 0.5)) +
            " of its model (median), which holds as much as " + shortest(quantile(effective, 0.5)) +
            " of " + plural(pool.size(), "shard") + " in equal parts.";
  if (facts.pool_ancestors->unknown > 5e-4)
    text +=
        " " + percent(facts.pool_ancestors->unknown) + " come from models that no log tells of.";
  return text;
}

}  // namespace

Figure ancestry_figure(const RunFacts& facts) {
  Figure figure{"ancestry", "Whose data is in the final models", "", "", "", "", ""};
  double trained = 0.0;
  if (facts.pool_ancestors) {
    for (const double share : facts.pool_ancestors->shares) trained += share;
  }
  if (!(trained > 0.0)) {
    figure.finding = "No block of training was logged, so no model has ancestors yet.";
    return figure;
  }
  figure.finding = finding_of(facts);
  const Grid grid = grid_of(facts.peers.size());
  const std::size_t rows = (facts.peers.size() + grid.row_stride - 1) / grid.row_stride;
  Drawing d(grid.y(rows) + 44.0, "Share of each shard in the final models", "ancestry");
  draw_pool(facts, grid, d);
  draw_map(facts, grid, d);
  const std::string highest = percent(highest_share(facts));
  figure.drawing =
      std::move(d).finish() +
      legend({{"share", "bar", "average model"},
              {"even", "dash", "an even share"},
              {"heat", "bar", highest + " of a peer's model; fainter is less (square root)"}});
  figure.note =
      "Counted in samples: training on a sample of a shard adds one to that shard's entry, a merge "
      "mixes entries as "
      "it mixes weights.";
  if (grid.row_stride > 1) figure.note += " Rows: " + stride_text(grid.row_stride, "peer") + ".";
  std::vector<std::string> columns{"model of", "effective shards", "unknown"};
  for (const Peer& peer : facts.peers) columns.push_back(peer.name);
  TableText table(columns, "Share of each shard in percent");
  const auto row = [&](const std::string& name, const Ancestors& model) {
    std::vector<std::string> cells{name, shortest(model.effective_shards),
                                   fixed(100.0 * model.unknown, 1)};
    for (const double share : model.shares) cells.push_back(fixed(100.0 * share, 1));
    table.row(cells);
  };
  row("average", *facts.pool_ancestors);
  for (std::size_t peer = 0; peer < facts.peers.size(); peer += grid.row_stride) {
    if (!facts.ancestors[peer].shares.empty()) row(facts.peers[peer].name, facts.ancestors[peer]);
  }
  figure.table = std::move(table).finish();
  return figure;
}

}  // namespace hearsay::runtime::report
