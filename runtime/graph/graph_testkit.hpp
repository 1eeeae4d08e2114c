// SPDX-License-Identifier: Apache-2.0
// Logs for the tests of this folder: lines as protocols write them, numbered by peer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "runtime/graph/merge_graph.hpp"

namespace hearsay::runtime {

class GraphLogs {
 public:
  using Json = nlohmann::ordered_json;

  explicit GraphLogs(bool is_virtual = true) : virtual_(is_virtual) { new_log(); }

  // The lines that follow are of other processes.
  GraphLogs& new_log() {
    RunLogs::One& one = logs_.logs.emplace_back();
    one.log.header = {{"ev", "run.started"}, {"clock", virtual_ ? "virtual" : "monotonic"}};
    next_n_.clear();
    return *this;
  }
  GraphLogs& add(std::int64_t t, const std::string& peer, const std::string& ev, Json fields) {
    logs_.logs.back().log.events.push_back({ev, t, peer, next_n_[peer]++, std::move(fields)});
    return *this;
  }
  GraphLogs& join(std::int64_t t, const std::string& peer, int inc = 0,
                  const std::string& reason = "start") {
    return add(t, peer, "peer.joined", {{"inc", inc}, {"reason", reason}});
  }
  GraphLogs& block(std::int64_t t, const std::string& peer, int samples, int steps = 10,
                   int step_ns = 1) {
    return add(t, peer, "block.finished",
               {{"samples", samples}, {"steps", steps}, {"step_ns", step_ns}});
  }
  GraphLogs& choose(std::int64_t t, const std::string& peer, const std::string& to) {
    return add(t, peer, "partner.chosen", {{"to", to}});
  }
  GraphLogs& send(std::int64_t t, const std::string& peer, const std::string& to, int seq) {
    return add(t, peer, "delta.sent", {{"to", to}, {"seq", seq}, {"codec", "raw"}, {"bytes", 64}});
  }
  GraphLogs& decide(std::int64_t t, const std::string& peer, const std::string& from, int seq,
                    double alpha, const std::string& verdict = "accept") {
    add(t, peer, "delta.received", {{"from", from}, {"seq", seq}});
    return add(t, peer, "merge.decided",
               {{"from", from}, {"seq", seq}, {"verdict", verdict}, {"alpha", alpha}});
  }
  GraphLogs& merge(std::int64_t t, const std::string& peer, const std::string& from, int seq,
                   int mseq, double alpha = 0.5) {
    decide(t, peer, from, seq, alpha);
    return add(t, peer, "merge.applied", {{"from", from}, {"seq", seq}, {"mseq", mseq}});
  }
  // A whole asynchronous pairwise exchange: `a` asks at t, `b` answers at t + 1, `a` has it at t
  // + 2.
  GraphLogs& exchange(std::int64_t t, const std::string& a, const std::string& b,
                      double alpha = 0.5) {
    const int ask = seq_[a]++, answer = seq_[b]++;
    choose(t, a, b).send(t, a, b, ask).merge(t + 1, b, a, ask, ++mseq_[b], alpha);
    return send(t + 1, b, a, answer).merge(t + 2, a, b, answer, ++mseq_[a], alpha);
  }
  GraphLogs& push(std::int64_t t, const std::string& a, const std::string& b, double alpha) {
    const int seq = seq_[a]++;
    return choose(t, a, b).send(t, a, b, seq).merge(t + 1, b, a, seq, ++mseq_[b], alpha);
  }
  RunLogs& logs() { return logs_; }
  MergeGraph graph() const { return build_merge_graph(logs_); }

 private:
  bool virtual_;
  RunLogs logs_;
  std::map<std::string, std::uint64_t> next_n_;
  std::map<std::string, int> seq_, mseq_;
};

inline std::uint64_t gap_count(const MergeGraph& graph, const std::string& words) {
  std::uint64_t count = 0;
  for (const MergeGraph::Gap& gap : graph.gaps) {
    if (gap.what.find(words) != std::string::npos) count += gap.count;
  }
  return count;
}

}  // namespace hearsay::runtime
