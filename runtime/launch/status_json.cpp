// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/status_json.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/launch/json_fields.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kStates{"starting",  "training", "waiting",
                                                  "lingering", "ended",    "lost"};

double finite_loss(double loss) { return std::isfinite(loss) ? loss : PeerStatus::kNoLoss; }

template <typename Histogram>
Json histogram_json(const Histogram& histogram) {
  Json j;
  j["counts"] = histogram.counts;
  j["sum"] = histogram.sum;
  return j;
}

template <typename Histogram>
bool read_histogram(const Json& j, Histogram& histogram) {
  JsonFields f(j);
  histogram.sum = f.number("sum");
  const Json& counts = f.child("counts");
  if (!f.ok() || !counts.is_array() || counts.size() != histogram.counts.size()) return false;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!counts[i].is_number_unsigned()) return false;
    histogram.counts[i] = counts[i].get<std::uint64_t>();
  }
  return true;
}

bool read_merges(const Json& j, std::vector<PeerStatus::Merge>& merges) {
  if (!j.is_array() || j.size() > PeerStatus::kNewestMerges) return false;
  for (const Json& each : j) {
    JsonFields f(each);
    PeerStatus::Merge merge;
    merge.from = f.text("from");
    merge.alpha = f.number("alpha");
    merge.at_s = f.number("at_s");
    if (!f.ok()) return false;
    merges.push_back(std::move(merge));
  }
  return true;
}

std::uint32_t small_count(JsonFields& f, const char* key, bool& ok) {
  const std::uint64_t count = f.count(key);
  ok = ok && count <= std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(count);
}

}  // namespace

Json status_json(const PeerStatus& s) {
  Json j;
  j["state"] = kStates[static_cast<std::size_t>(s.state)];
  j["clock_s"] = s.clock_s;
  j["progress"] = s.progress;
  j["epochs"] = s.epochs;
  j["samples"] = s.samples;
  j["samples_per_s"] = s.samples_per_s;
  j["merges"] = s.merges;
  j["merges_applied"] = s.merges_applied;
  j["merges_refused"] = s.merges_refused;
  j["merges_skipped"] = s.merges_skipped;
  j["payload_bytes"] = s.payload_bytes;
  j["wire_bytes"] = s.wire_bytes;
  j["payload_bytes_received"] = s.payload_bytes_received;
  j["wire_bytes_received"] = s.wire_bytes_received;
  j["loss"] = finite_loss(s.loss);
  j["accuracy"] = s.accuracy;
  j["test_loss"] = finite_loss(s.test_loss);
  j["evaluated_epochs"] = s.evaluated_epochs;
  j["evaluated_s"] = s.evaluated_s;
  j["evaluation_round"] = s.evaluation_round;
  j["partner"] = s.partner;
  j["alpha"] = s.alpha;
  j["inbox_depth"] = s.inbox_depth;
  j["partners_alive"] = s.partners_alive;
  j["consensus_distance"] = s.consensus_distance;
  j["step_seconds"] = histogram_json(s.step_seconds);
  j["merge_age_samples"] = histogram_json(s.merge_age_samples);
  j["newest_merges"] = Json::array();
  for (const PeerStatus::Merge& merge : s.newest_merges) {
    j["newest_merges"].push_back(
        {{"from", merge.from}, {"alpha", merge.alpha}, {"at_s", merge.at_s}});
  }
  return j;
}

std::optional<PeerStatus> read_status(const Json& j) {
  JsonFields f(j);
  const std::string state = f.text("state");
  PeerStatus s;
  std::size_t index = 0;
  while (index < kStates.size() && kStates[index] != state) ++index;
  if (index == kStates.size()) return std::nullopt;
  bool fits = true;
  s.state = static_cast<PeerStatus::State>(index);
  s.clock_s = f.number("clock_s");
  s.progress = f.number("progress");
  s.epochs = f.number("epochs");
  s.samples = f.count("samples");
  s.samples_per_s = f.number("samples_per_s");
  s.merges = f.count("merges");
  s.merges_applied = f.count("merges_applied");
  s.merges_refused = f.count("merges_refused");
  s.merges_skipped = f.count("merges_skipped");
  s.payload_bytes = f.count("payload_bytes");
  s.wire_bytes = f.count("wire_bytes");
  s.payload_bytes_received = f.count("payload_bytes_received");
  s.wire_bytes_received = f.count("wire_bytes_received");
  s.loss = f.number("loss");
  s.accuracy = f.number("accuracy");
  s.test_loss = f.number("test_loss");
  s.evaluated_epochs = f.number("evaluated_epochs");
  s.evaluated_s = f.number("evaluated_s");
  s.evaluation_round = f.count("evaluation_round");
  s.partner = f.text("partner");
  s.alpha = f.number("alpha");
  s.inbox_depth = small_count(f, "inbox_depth", fits);
  s.partners_alive = small_count(f, "partners_alive", fits);
  s.consensus_distance = f.number("consensus_distance");
  fits = read_histogram(f.child("step_seconds"), s.step_seconds) && fits;
  fits = read_histogram(f.child("merge_age_samples"), s.merge_age_samples) && fits;
  fits = read_merges(f.child("newest_merges"), s.newest_merges) && fits;
  if (!f.ok() || !fits) return std::nullopt;
  return s;
}

}  // namespace hearsay::runtime
