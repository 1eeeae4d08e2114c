// SPDX-License-Identifier: Apache-2.0
// The merge graph as GraphML and as graph.json.
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/export/event_stream.hpp"
#include "runtime/export/formats.hpp"
#include "runtime/export/output_file.hpp"
#include "runtime/graph/merge_graph.hpp"

namespace hearsay::runtime {
namespace {

using Index = MergeGraph::Index;
using Json = nlohmann::ordered_json;

const char* kind_name(MergeGraph::NodeKind kind) {
  switch (kind) {
    case MergeGraph::NodeKind::start: return "start";
    case MergeGraph::NodeKind::merge: return "merge";
    case MergeGraph::NodeKind::adoption: return "adoption";
    case MergeGraph::NodeKind::resumption: break;
  }
  return "resumption";
}

// Names come from logs: anything may be in them. Control characters cannot be in XML at all.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return out;
}

void data(OutputFile& out, const char* key, const std::string& value) {
  out << "<data key=\"" << key << "\">" << value << "</data>";
}

struct Key {
  const char *name, *of, *type;
};
constexpr Key kKeys[] = {
    {"peer", "node", "string"},        {"mseq", "node", "long"},    {"kind", "node", "string"},
    {"start", "node", "long"},         {"t_ns", "node", "long"},    {"samples", "node", "long"},
    {"edge", "edge", "string"},        {"trained", "edge", "long"}, {"alpha", "edge", "double"},
    {"seq", "edge", "long"},           {"bytes", "edge", "long"},   {"codec", "edge", "string"},
    {"age_samples", "edge", "double"}, {"sent_ns", "edge", "long"}};

void write_nodes(const MergeGraph& graph, OutputFile& out) {
  for (Index n = 0; n < graph.nodes.size(); ++n) {
    const MergeGraph::Node& node = graph.nodes[n];
    out << "<node id=\"n" << std::to_string(n) << "\">";
    data(out, "peer", xml(graph.peers[node.peer].name));
    data(out, "mseq", std::to_string(node.mseq));
    data(out, "kind", kind_name(node.kind));
    data(out, "start", std::to_string(graph.sessions[node.session].number));
    data(out, "t_ns", std::to_string(node.t_ns));
    data(out, "samples", std::to_string(node.samples));
    out << "</node>\n";
  }
  std::set<Index> unknown;
  for (const MergeGraph::Edge& edge : graph.edges) {
    if (edge.from_node == MergeGraph::kNone) unknown.insert(edge.from);
  }
  for (const Index peer : unknown) {
    out << "<node id=\"u" << std::to_string(peer) << "\">";
    data(out, "peer", xml(graph.peers[peer].name));
    data(out, "kind", "unknown");
    out << "</node>\n";
  }
}

void write_edges(const MergeGraph& graph, OutputFile& out) {
  for (Index n = 0; n < graph.nodes.size(); ++n) {
    const MergeGraph::Node& node = graph.nodes[n];
    if (node.previous == MergeGraph::kNone) continue;
    out << "<edge source=\"n" << std::to_string(node.previous) << "\" target=\"n"
        << std::to_string(n) << "\">";
    data(out, "edge", "local");
    data(out, "trained", std::to_string(node.trained));
    out << "</edge>\n";
  }
  for (const MergeGraph::Edge& edge : graph.edges) {
    const bool is_known = edge.from_node != MergeGraph::kNone;
    out << "<edge source=\"" << (is_known ? "n" : "u")
        << std::to_string(is_known ? edge.from_node : edge.from) << "\" target=\"n"
        << std::to_string(edge.node) << "\">";
    data(out, "edge", "merge");
    data(out, "trained", std::to_string(edge.trained));
    data(out, "alpha", number_text(edge.alpha));
    data(out, "seq", std::to_string(edge.seq));
    data(out, "bytes", std::to_string(edge.bytes));
    if (edge.codec != MergeGraph::kNone) data(out, "codec", xml(graph.codecs[edge.codec]));
    data(out, "age_samples", number_text(edge.age_samples));
    if (is_known) data(out, "sent_ns", std::to_string(edge.sent_ns));
    out << "</edge>\n";
  }
}

// "name":[...], a value of each row; kNone becomes null.
template <typename Rows, typename Value>
void column(OutputFile& out, const char* name, const Rows& rows, bool is_last, Value&& value) {
  out << "\"" << name << "\":[";
  bool is_first = true;
  for (const auto& row : rows) {
    out << (is_first ? "" : ",") << value(row);
    is_first = false;
  }
  out << (is_last ? "]" : "],\n");
}

std::string index_text(Index index) {
  return index == MergeGraph::kNone ? "null" : std::to_string(index);
}

Damage gaps_of(const MergeGraph& graph) {
  Damage damage;
  for (const MergeGraph::Gap& gap : graph.gaps)
    damage.push_back(std::to_string(gap.count) + " " + gap.what +
                     (gap.first.empty() ? "" : ": " + gap.first));
  return damage;
}

Json about(const MergeGraph& graph, const RunDir& run) {
  Json j = {
      {"schema", 1}, {"run", run.name()}, {"clock", graph.virtual_clock ? "virtual" : "aligned"}};
  j["codecs"] = graph.codecs;
  j["peers"] = Json::array();
  for (const MergeGraph::Peer& p : graph.peers) {
    j["peers"].push_back({{"peer", p.name},
                          {"has_log", p.has_log},
                          {"last", p.last == MergeGraph::kNone ? Json() : Json(p.last)},
                          {"trained_after_last", p.trained_after_last},
                          {"samples", p.samples},
                          {"end_ns", p.end_ns},
                          {"left", p.left}});
  }
  j["gaps"] = Json::array();
  for (const MergeGraph::Gap& gap : graph.gaps)
    j["gaps"].push_back({{"what", gap.what}, {"count", gap.count}, {"first", gap.first}});
  return j;
}

}  // namespace

Damage export_graphml(const RunDir& run, const std::string& path) {
  const MergeGraph graph = read_merge_graph(run);
  OutputFile out(path);
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      << "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  for (const Key& key : kKeys)
    out << "<key id=\"" << key.name << "\" for=\"" << key.of << "\" attr.name=\"" << key.name
        << "\" attr.type=\"" << key.type << "\"/>\n";
  out << "<graph id=\"" << xml(run.name()) << "\" edgedefault=\"directed\">\n";
  write_nodes(graph, out);
  write_edges(graph, out);
  out << "</graph>\n</graphml>\n";
  out.commit();
  return gaps_of(graph);
}

Damage export_graph_json(const RunDir& run, const std::string& path) {
  const MergeGraph graph = read_merge_graph(run);
  OutputFile out(path);
  std::string head = dump_text(about(graph, run));
  head.pop_back();  // its closing brace
  out << head << ",\n\"nodes\":{";
  const auto& nodes = graph.nodes;
  column(out, "peer", nodes, false, [](const auto& n) { return std::to_string(n.peer); });
  column(out, "mseq", nodes, false, [](const auto& n) { return std::to_string(n.mseq); });
  column(out, "kind", nodes, false,
         [](const auto& n) { return "\"" + std::string(kind_name(n.kind)) + "\""; });
  column(out, "start", nodes, false,
         [&](const auto& n) { return std::to_string(graph.sessions[n.session].number); });
  column(out, "t_ns", nodes, false, [](const auto& n) { return std::to_string(n.t_ns); });
  column(out, "samples", nodes, false, [](const auto& n) { return std::to_string(n.samples); });
  column(out, "previous", nodes, false, [](const auto& n) { return index_text(n.previous); });
  column(out, "trained", nodes, true, [](const auto& n) { return std::to_string(n.trained); });
  out << "},\n\"edges\":{";
  const auto& edges = graph.edges;
  column(out, "from_peer", edges, false, [](const auto& e) { return std::to_string(e.from); });
  column(out, "seq", edges, false, [](const auto& e) { return std::to_string(e.seq); });
  column(out, "from", edges, false, [](const auto& e) { return index_text(e.from_node); });
  column(out, "trained", edges, false, [](const auto& e) { return std::to_string(e.trained); });
  column(out, "to", edges, false, [](const auto& e) { return std::to_string(e.node); });
  column(out, "base", edges, false, [](const auto& e) { return index_text(e.base_node); });
  column(out, "base_trained", edges, false,
         [](const auto& e) { return std::to_string(e.base_trained); });
  column(out, "alpha", edges, false, [](const auto& e) { return number_text(e.alpha); });
  column(out, "age_samples", edges, false,
         [](const auto& e) { return number_text(e.age_samples); });
  column(out, "sent_ns", edges, false, [](const auto& e) { return std::to_string(e.sent_ns); });
  column(out, "bytes", edges, false, [](const auto& e) { return std::to_string(e.bytes); });
  column(out, "codec", edges, true, [](const auto& e) { return index_text(e.codec); });
  out << "}}\n";
  out.commit();
  return gaps_of(graph);
}

}  // namespace hearsay::runtime
