// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/summary.hpp"

#include <utility>

#include "runtime/report/event_fields.hpp"

namespace hearsay::runtime::report {
namespace {

using Member = std::optional<double> Result::*;
constexpr std::pair<const char*, Member> kMeasures[] = {
    {"test_acc_mean", &Result::accuracy_mean},
    {"test_acc_min", &Result::accuracy_min},
    {"test_acc_averaged_model", &Result::accuracy_averaged},
    {"test_loss_mean", &Result::loss_mean},
    {"wall_s", &Result::wall_s},
    {"virtual_s", &Result::virtual_s},
    {"samples", &Result::samples},
    {"wire_bytes", &Result::wire_bytes},
    {"merges_applied", &Result::merges_applied},
    {"peers_lost", &Result::peers_lost}};

Json summary_of_run(const RunFacts& run) {
  Json j = {{"run", run.path}, {"name", run.name}};
  j["verdict"] = run.result ? Json(run.result->verdict) : Json();
  j["seed"] = run.seed ? Json(*run.seed) : Json();
  j["command"] = command_of(run);
  j["peers"] = run.peers.size();
  j["events"] = run.events;
  j["merges"] = run.merges.size();
  Json dead = Json::array();
  for (PeerIndex peer = 0; peer < run.peers.size(); ++peer) {
    if (run.is_dead(peer)) dead.push_back(run.peer_name(peer));
  }
  j["dead"] = std::move(dead);
  j["missing"] = run.missing;
  return j;
}

Json summary_of_group(const Group& group) {
  Json j = {
      {"configuration", group.label}, {"runs", group.runs.size()}, {"baseline", group.is_baseline}};
  for (const auto& [name, member] : kMeasures) {
    const Estimate interval = group.interval(member);
    if (interval.n == 0) continue;
    j[name] = {{"mean", interval.mean}, {"count", interval.n}};
    j[name]["half_width_95"] = interval.half_width ? Json(*interval.half_width) : Json();
  }
  return j;
}

}  // namespace

Json summary_of(const Report& report, std::span<const RunFacts> runs, const std::string& page) {
  Json j = {{"page", page}, {"headline", report.headline}};
  j["runs"] = Json::array();
  for (const RunFacts& run : runs) j["runs"].push_back(summary_of_run(run));
  j["groups"] = Json::array();
  for (const Group& group : report.comparison.groups)
    j["groups"].push_back(summary_of_group(group));
  j["differing"] = report.comparison.differing;
  j["figures"] = Json::array();
  for (const Figure& figure : report.figures)
    j["figures"].push_back(
        {{"id", figure.id}, {"drawn", figure.is_drawn()}, {"finding", figure.finding}});
  return j;
}

}  // namespace hearsay::runtime::report
