// SPDX-License-Identifier: Apache-2.0
// Figure 9: bytes by codec, what of them were weights and what headers, what never arrived; and who
// sent and received them.
#include <algorithm>
#include <map>
#include <utility>

#include "runtime/report/figures.hpp"
#include "runtime/report/plot.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

struct Kind {  // of transfer
  std::string name;
  std::size_t models = 0, unseen = 0;
  double payload_bytes = 0.0, wire_bytes = 0.0, unseen_bytes = 0.0;
};

std::vector<Kind> kinds_of(const RunFacts& facts) {
  std::map<std::string, Kind> kinds;
  for (const Transfer& t : facts.transfers) {
    Kind& kind = kinds["weights, " + (t.codec.empty() ? std::string("no codec named") : t.codec)];
    ++kind.models;
    kind.payload_bytes += t.payload_bytes;
    kind.wire_bytes += t.wire_bytes;
    if (t.received) continue;
    ++kind.unseen;
    kind.unseen_bytes += t.payload_bytes;
  }
  if (facts.result && kinds.empty() && facts.result->wire_bytes.value_or(0.0) > 0.0) {
    Kind& kind = kinds["all of --protocol " + facts.protocol];
    kind.payload_bytes = facts.result->payload_bytes.value_or(0.0);
    kind.wire_bytes = std::max(kind.payload_bytes, *facts.result->wire_bytes);
  }
  if (facts.result && facts.result->example_bytes.value_or(0.0) > 0.0) {
    Kind& kind = kinds["examples"];
    kind.payload_bytes = kind.wire_bytes = *facts.result->example_bytes;
  }
  std::vector<Kind> sorted;
  for (auto& [name, kind] : kinds) {
    kind.name = name;
    sorted.push_back(kind);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Kind& a, const Kind& b) { return a.wire_bytes > b.wire_bytes; });
  return sorted;
}

struct Share {  // of a peer
  double sent = 0.0, received = 0.0;
};

std::vector<Share> shares_of(const RunFacts& facts) {
  std::vector<Share> shares(facts.peers.size());
  for (const Transfer& t : facts.transfers) {
    shares[t.from].sent += t.wire_bytes;
    if (t.received) shares[t.to].received += t.wire_bytes;
  }
  if (!facts.transfers.empty()) return shares;
  for (std::size_t i = 0; i < shares.size(); ++i)
    shares[i].sent = facts.peers[i].wire_bytes.value_or(0.0);
  return shares;
}

void draw_kinds(const std::vector<Kind>& kinds, double top, Drawing& d) {
  constexpr double kFrom = 14.0, kTo = kWidth - 14.0;
  const double most = std::max(1.0, kinds.front().wire_bytes);
  double y = top;
  for (const Kind& kind : kinds) {
    const double arrived = kind.payload_bytes - kind.unseen_bytes;
    const double scale = (kTo - kFrom) / most;
    d.text(kFrom, y,
           kind.name + ": " + bytes_text(kind.wire_bytes) + " on the wire, " +
               bytes_text(kind.payload_bytes) + " of it payload, " +
               bytes_text(kind.wire_bytes - kind.payload_bytes) + " headers");
    d.rect(kFrom, y + 8, std::max(0.5, arrived * scale), 18, "bytes-payload",
           "payload that arrived: " + bytes_text(arrived), "data-m");
    if (kind.unseen_bytes > 0.0)
      d.rect(kFrom + arrived * scale, y + 8, std::max(0.8, kind.unseen_bytes * scale), 18,
             "bytes-lost", "payload whose arrival is in no log: " + bytes_text(kind.unseen_bytes),
             "data-m");
    if (kind.wire_bytes > kind.payload_bytes)
      d.rect(kFrom + kind.payload_bytes * scale, y + 8,
             std::max(0.8, (kind.wire_bytes - kind.payload_bytes) * scale), 18, "bytes-header",
             "headers: " + bytes_text(kind.wire_bytes - kind.payload_bytes), "data-m");
    y += 54.0;
  }
}

void draw_peers(const RunFacts& facts, const std::vector<Share>& shares, Plot plot, Drawing& d) {
  for (const Share& share : shares)
    plot.y.high = std::max({plot.y.high, share.sent, share.received});
  plot.y.high *= 1.05;
  plot.y_unit = Unit::bytes;
  plot.y_label = "on the wire, by peer";
  const double slot = (plot.x.to_px - plot.x.from_px) / static_cast<double>(shares.size());
  const double bar = std::clamp(slot * 0.36, 1.5, 30.0);
  const std::size_t step = slot >= 26.0 ? 1 : static_cast<std::size_t>(26.0 / slot) + 1;
  plot.x.low = plot.x.high = 0.0;  // no numbers below: names stand there
  Plot frame = plot;
  frame.draw_axes(d);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double middle = plot.x.from_px + (static_cast<double>(i) + 0.5) * slot;
    const std::string& name = facts.peers[i].name;
    const double sent = plot.y.at(shares[i].sent), received = plot.y.at(shares[i].received);
    d.rect(middle - bar - 0.4, sent, bar, plot.y.from_px - sent, "bytes-sent",
           name + " sent " + bytes_text(shares[i].sent),
           "data-m data-p=\"" + std::to_string(i) + "\"");
    d.rect(middle + 0.4, received, bar, plot.y.from_px - received, "bytes-received",
           name + " received " + bytes_text(shares[i].received),
           "data-m data-p=\"" + std::to_string(i) + "\"");
    if (i % step == 0)
      d.text(middle, plot.y.from_px + 17, name.substr(0, 8), "tick", Drawing::Anchor::middle);
  }
}

std::string finding_of(const RunFacts& facts, const std::vector<Kind>& kinds) {
  double payload = 0.0, wire = 0.0, unseen = 0.0;
  std::size_t models = 0, lost = 0;
  for (const Kind& kind : kinds) {
    payload += kind.payload_bytes;
    wire += kind.wire_bytes;
    unseen += kind.unseen_bytes;
    models += kind.models;
    lost += kind.unseen;
  }
  std::string text = "The pool sent " + bytes_text(wire) + ", " +
                     fixed(100.0 * payload / std::max(1.0, wire), 2) + " % of it payload";
  if (models > 0)
    text += ", in " + plural(models, "model") + " of " +
            bytes_text(payload / static_cast<double>(models)) + " on average";
  text += ".";
  if (lost > 0)
    text += " " + plural(lost, "model") + " (" + bytes_text(unseen) +
            ") arrived nowhere that was logged.";
  if (facts.result && facts.result->samples.value_or(0.0) > 0.0)
    text += " That is " + bytes_text(wire / *facts.result->samples) + " a training sample.";
  return text;
}

}  // namespace

Figure traffic_figure(const RunFacts& facts) {
  Figure figure{"traffic", "Where the bytes went", "", "", "", "", ""};
  const std::vector<Kind> kinds = kinds_of(facts);
  if (kinds.empty()) {
    figure.finding = facts.protocol == "local" ? "Under --protocol local nothing is sent."
                                               : "No transfer was logged.";
    return figure;
  }
  figure.finding = finding_of(facts, kinds);
  const std::vector<Share> shares = shares_of(facts);
  const double kinds_height = 20.0 + 54.0 * static_cast<double>(kinds.size());
  Drawing d(kinds_height + 230.0, "Bytes by kind, and by peer", "traffic");
  draw_kinds(kinds, 22.0, d);
  draw_peers(facts, shares, Plot::at(0, kinds_height, kWidth, 230.0), d);
  figure.drawing =
      std::move(d).finish() + legend({{"bytes-payload", "bar", "payload that arrived"},
                                      {"bytes-lost", "bar", "payload, arrival not logged"},
                                      {"bytes-header", "bar", "headers"},
                                      {"bytes-sent", "bar", "sent by a peer"},
                                      {"bytes-received", "bar", "received"}});
  if (facts.transfers.empty())
    figure.note =
        "This protocol logs no single transfers; the sums are those of result.json, and who "
        "received is not known.";
  TableText table(
      {"kind or peer", "models", "payload", "on the wire", "received", "not seen to arrive"},
      "Bytes");
  for (const Kind& kind : kinds)
    table.row({kind.name, kind.models > 0 ? std::to_string(kind.models) : "–",
               bytes_text(kind.payload_bytes), bytes_text(kind.wire_bytes),
               kind.models > 0 ? bytes_text(kind.payload_bytes - kind.unseen_bytes) : "–",
               kind.models > 0 ? bytes_text(kind.unseen_bytes) : "–"});
  for (std::size_t i = 0; i < shares.size(); ++i)
    table.row({facts.peers[i].name, "–", "–", bytes_text(shares[i].sent),
               facts.transfers.empty() ? "–" : bytes_text(shares[i].received), "–"});
  figure.table = std::move(table).finish();
  return figure;
}

}  // namespace hearsay::runtime::report
