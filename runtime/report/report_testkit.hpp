// SPDX-License-Identifier: Apache-2.0
// Logs for the tests of this folder: events as protocols write them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/report/load.hpp"

namespace hearsay::runtime::report {

class TestLog {
 public:
  explicit TestLog(std::string owner = "", const std::string& time = "2026-01-02T03:04:05Z") {
    log_.owner = std::move(owner);
    log_.path = "logs/" + log_.owner + time;
    log_.header = {{"ev", "run.started"}, {"time", time}};
  }

  TestLog& add(double time_s, const std::string& peer, const std::string& ev,
               nlohmann::ordered_json fields = nlohmann::ordered_json::object()) {
    const auto t_ns = static_cast<std::int64_t>(time_s * 1e9 + 0.5);
    log_.events.push_back({ev, t_ns, peer, log_.events.size(), std::move(fields)});
    return *this;
  }
  TestLog& block(double time_s, const std::string& peer, int samples, int steps, double step_s) {
    return add(time_s, peer, "block.finished",
               {{"samples", samples},
                {"steps", steps},
                {"loss", 0.5},
                {"acc", 0.8},
                {"step_ns", static_cast<std::int64_t>(step_s * 1e9 + 0.5)}});
  }
  TestLog& send(double time_s, const std::string& peer, const std::string& to, int seq) {
    return add(time_s, peer, "delta.sent",
               {{"to", to}, {"seq", seq}, {"codec", "raw"}, {"bytes", 1000}, {"wire_bytes", 1100}});
  }
  TestLog& merge(double time_s, const std::string& peer, const std::string& from, int seq,
                 const std::string& verdict = "accept") {
    add(time_s, peer, "delta.received", {{"from", from}, {"seq", seq}, {"bytes", 1000}});
    add(time_s, peer, "merge.decided",
        {{"from", from},
         {"seq", seq},
         {"verdict", verdict},
         {"alpha", 0.5},
         {"age_samples", 64},
         {"cos", 0.25},
         {"rel_norm", 0.1}});
    if (verdict == "refuse") return *this;
    return add(time_s, peer, "merge.applied", {{"from", from}, {"seq", seq}, {"mseq", 1}});
  }
  OneLog log() const { return log_; }

 private:
  OneLog log_;
};

// Facts of a run whose peers are `names`.
inline RunFacts facts_of(std::vector<OneLog> logs, const std::vector<std::string>& names) {
  RunFacts facts;
  facts.name = facts.path = "run";
  for (const std::string& name : names) {
    Peer peer;
    peer.name = name;
    facts.peers.push_back(std::move(peer));
  }
  add_events(std::move(logs), facts);
  return facts;
}

}  // namespace hearsay::runtime::report
