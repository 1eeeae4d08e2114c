// SPDX-License-Identifier: Apache-2.0
// The part of `hearsay inspect RUN` that comes from the merge graph. Small pools get a row a peer
// and the matrix of who took in whose models; larger ones the ends and the middle of every column.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <numeric>

#include "runtime/app/command_inspect.hpp"
#include "runtime/config/protocol_kinds.hpp"
#include "runtime/graph/graph_statistics.hpp"
#include "runtime/graph/mixing.hpp"

namespace hearsay::runtime {
namespace {

using Index = MergeGraph::Index;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 16;  // of peers, in a table for people

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string seconds(std::int64_t ns) { return number(static_cast<double>(ns) * 1e-9, 3); }
Json seconds_json(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// Whether the pool averages every gradient, which its graph does not show.
bool averages_every_step(const RunDir& run) {
  std::ifstream in(run.run_json());
  const Json json = Json::parse(in, nullptr, false);
  if (!json.is_object() || !json.contains("config") || !json["config"].is_object()) return false;
  const Json protocol = json["config"].value("protocol", Json());
  const Json value = protocol.is_object() ? protocol.value("value", Json()) : protocol;
  return value.is_string() && is_synchronous(value.get<std::string>());
}

struct Column {
  const char* name;
  const char* key;
  int digits;
  std::function<double(const PeerStatistics&)> of;
};

const std::vector<Column>& columns() {
  static const std::vector<Column> all{
      {"in", "merges_in", 0, [](const auto& p) { return double(p.merges_in); }},
      {"out", "merges_out", 0, [](const auto& p) { return double(p.merges_out); }},
      {"from", "partners_in", 0, [](const auto& p) { return double(p.partners_in); }},
      {"to", "partners_out", 0, [](const auto& p) { return double(p.partners_out); }},
      {"gap s", "longest_gap_s", 3, [](const auto& p) { return double(p.longest_gap_ns) * 1e-9; }},
      {"gap samples", "longest_gap_samples", 0,
       [](const auto& p) { return double(p.longest_gap_samples); }},
      {"age mean", "age_samples_mean", 0, [](const auto& p) { return p.age_samples_mean; }},
      {"p50", "age_samples_p50", 0, [](const auto& p) { return p.age_samples_p50; }},
      {"p95", "age_samples_p95", 0, [](const auto& p) { return p.age_samples_p95; }},
      {"own %", "self_share", 1, [](const auto& p) { return p.self_share; }},
      {"shards", "effective_shards", 1, [](const auto& p) { return p.effective_shards; }}};
  return all;
}

std::string cell(const Column& column, const PeerStatistics& peer) {
  const double value = column.of(peer);
  return number(std::string_view(column.key) == "self_share" ? 100.0 * value : value,
                column.digits);
}

// Cells of equal width, right-aligned; the first column to the left.
std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string& line = lines.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(width[c] - row[c].size(), ' ');
      line += c == 0 ? row[c] + pad : "  " + pad + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

std::vector<std::string> heading(const char* first) {
  std::vector<std::string> row{first};
  for (const Column& column : columns()) row.emplace_back(column.name);
  return row;
}

void add_peer_table(const MergeGraph& graph, const GraphStatistics& all, Description& out) {
  std::vector<std::vector<std::string>> rows{heading("peer")};
  for (Index p = 0; p < graph.peers.size(); ++p) {
    std::vector<std::string> row{graph.peers[p].name};
    for (const Column& column : columns()) row.push_back(cell(column, all.peers[p]));
    if (!graph.peers[p].has_log) row.push_back("no log");
    rows.push_back(std::move(row));
  }
  for (std::string& line : aligned(rows)) out.line("", std::move(line));
}

// Least, middle and most of every column, each with the peer that has it.
void add_extremes(const MergeGraph& graph, const GraphStatistics& all, Description& out) {
  std::vector<std::vector<std::string>> rows{{"", "least", "", "median", "most", ""}};
  for (const Column& column : columns()) {
    std::vector<Index> order(graph.peers.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
      return column.of(all.peers[a]) < column.of(all.peers[b]);
    });
    const Index least = order.front(), most = order.back();
    rows.push_back({column.name, cell(column, all.peers[least]), graph.peers[least].name,
                    cell(column, all.peers[order[(order.size() - 1) / 2]]),
                    cell(column, all.peers[most]), graph.peers[most].name});
  }
  for (std::string& line : aligned(rows)) out.line("", std::move(line));
}

void add_matrix(const MergeGraph& graph, const GraphStatistics& all, Description& out) {
  const std::size_t n = graph.peers.size();
  std::vector<std::vector<std::string>> rows(n + 1, std::vector<std::string>(n + 1, "."));
  rows[0][0] = "took from";
  for (std::size_t p = 0; p < n; ++p) {
    rows[0][p + 1] = rows[p + 1][0] = graph.peers[p].name;
    rows[p + 1][p + 1] = "\\";
  }
  for (const LinkCount& link : all.links)
    rows[link.to + 1][link.from + 1] = std::to_string(link.count);
  for (std::string& line : aligned(rows)) out.line("", std::move(line));
}

Json share_json(const Ancestry::Model& model) {
  return {{"shares", model.shares},
          {"initial", model.initial},
          {"unknown", model.unknown},
          {"effective_shards", model.effective_shards()}};
}

void add_peers_json(const MergeGraph& graph, const GraphStatistics& all, const Ancestry& ancestry,
                    Json& json) {
  for (Index p = 0; p < graph.peers.size(); ++p) {
    const MergeGraph::Peer& peer = graph.peers[p];
    Json one = {{"peer", peer.name}, {"has_log", peer.has_log}, {"samples", peer.samples}};
    one["left"] = peer.left;
    one["models_refused"] = peer.refused;
    one["bytes_in"] = all.peers[p].bytes_in;
    for (const Column& column : columns()) {
      const double value = column.of(all.peers[p]);
      one[column.key] = column.digits == 0 && value == std::floor(value) && value < 9e15
                            ? Json(static_cast<std::uint64_t>(value))
                            : Json(value);
    }
    one["ancestry"] = share_json(ancestry.models[p]);
    json["per_peer"].push_back(std::move(one));
  }
  for (const LinkCount& link : all.links) {
    json["links"].push_back({{"from", graph.peers[link.from].name},
                             {"to", graph.peers[link.to].name},
                             {"models", link.count},
                             {"bytes", link.bytes},
                             {"alpha_mean", link.alpha_sum / static_cast<double>(link.count)}});
  }
}

// The middle one of them by time and by merges.
std::pair<double, double> median_spread(const std::vector<Spread>& spreads) {
  std::vector<double> s, merges;
  for (const Spread& spread : spreads) {
    s.push_back(static_cast<double>(spread.to_ns - spread.from_ns) * 1e-9);
    merges.push_back(spread.merges_per_peer);
  }
  std::sort(s.begin(), s.end());
  std::sort(merges.begin(), merges.end());
  const std::size_t middle = (s.size() - 1) / 2;
  return {s[middle], merges[middle]};
}

void add_mixing(const Mixing& mixing, std::size_t peers, Description& out) {
  Json json = {{"spreads", mixing.spreads.size()}};
  if (!mixing.spreads.empty()) {
    const Spread& first = mixing.spreads.front();
    const auto [median_s, median_merges] = median_spread(mixing.spreads);
    json["first_spread_s"] = seconds_json(first.to_ns - first.from_ns);
    json["first_spread_merges_per_peer"] = first.merges_per_peer;
    json["median_spread_s"] = median_s;
    json["median_spread_merges_per_peer"] = median_merges;
    out.line("spread", "from every peer to every other in " + number(median_s, 3) + " s, " +
                           number(median_merges, 1) + " merges a peer (median of " +
                           std::to_string(mixing.spreads.size()) + "; the first " +
                           seconds(first.to_ns - first.from_ns) + " s)");
  } else {
    out.line("spread", "never from every peer to every other");
  }
  json["contraction_merges"] = mixing.merges;
  json["contraction_per_merge"] = mixing.measured ? Json(*mixing.measured) : Json();
  json["contraction_theory"] = mixing.theory ? Json(*mixing.theory) : Json();
  json["disagreement_left"] = mixing.left;
  json["exchanges"] = mixing.is_symmetric ? "symmetric" : "one way";
  out.json["mixing"] = json;
  if (!mixing.measured) return;
  const auto per_e = [&](double contraction) {
    return contraction < 1.0 ? number(Mixing::merges_per_e(contraction, peers), 2) : "no end of";
  };
  std::string text = "disagreement falls by e in " + per_e(*mixing.measured) + " merges a peer";
  if (mixing.theory)
    text += "; theory for these links: " + per_e(*mixing.theory) + " at most, on average";
  out.line("mixing", text);
}

void add_summary(const MergeGraph& graph, const GraphStatistics& all, const Ancestry& ancestry,
                 Description& out) {
  out.json["merges"] = all.merges;
  out.json["models"] = all.models;
  out.json["age_samples_mean"] = all.age_samples_mean;
  out.json["age_samples_p50"] = all.age_samples_p50;
  out.json["age_samples_p95"] = all.age_samples_p95;
  out.json["pool_ancestry"] = share_json(ancestry.pool);
  out.line("graph", std::to_string(graph.peers.size()) + " peers, " +
                        std::to_string(graph.sessions.size()) + " starts, " +
                        std::to_string(all.merges) + " merges of " + std::to_string(all.models) +
                        " models; age in samples " + number(all.age_samples_mean, 0) + " mean, " +
                        number(all.age_samples_p50, 0) + " median, " +
                        number(all.age_samples_p95, 0) + " p95");
  if (ancestry.pool.initial > 0.0) return out.line("ancestry", "nobody has trained");
  out.line("ancestry", "the pool's average holds " + number(ancestry.pool.effective_shards(), 1) +
                           " effective shards; unknown " +
                           number(100.0 * ancestry.pool.unknown, 1) + " %");
}

}  // namespace

Description describe_graph(const RunDir& run) {
  const MergeGraph graph = read_merge_graph(run);
  const Ancestry ancestry = find_ancestry(
      graph, averages_every_step(run) ? Averaging::of_every_step : Averaging::by_merges);
  const GraphStatistics all = graph_statistics(graph, ancestry);
  Description out;
  add_summary(graph, all, ancestry, out);
  if (const auto mixing = find_mixing(graph, all)) add_mixing(*mixing, graph.peers.size(), out);
  for (const MergeGraph::Gap& gap : graph.gaps) {
    out.json["gaps"].push_back({{"what", gap.what}, {"count", gap.count}, {"first", gap.first}});
    out.line("gap", std::to_string(gap.count) + " " + gap.what + ": " + gap.first);
  }
  add_peers_json(graph, all, ancestry, out.json);
  if (graph.peers.empty()) return out;
  if (graph.peers.size() > kMostRows) {
    add_extremes(graph, all, out);
  } else {
    add_peer_table(graph, all, out);
    if (!all.links.empty()) add_matrix(graph, all, out);
  }
  return out;
}

}  // namespace hearsay::runtime
