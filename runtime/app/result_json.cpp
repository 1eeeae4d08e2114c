// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/result_json.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "runtime/config/option_table.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

struct Totals {
  std::uint64_t samples = 0, started = 0, applied = 0, refused = 0, skipped = 0, payload = 0,
                wire = 0;
  double longest_gap = 0.0;
};

Totals add_up(const PoolResult& result) {
  Totals t;
  for (const PeerResult& peer : result.peers) {
    t.samples += peer.counters.samples - peer.counters.inherited_samples;
    t.started += peer.counters.merges_started;
    t.applied += peer.counters.merges_applied;
    t.refused += peer.counters.merges_refused;
    t.skipped += peer.counters.merges_skipped;
    t.payload += peer.payload_bytes;
    t.wire += peer.wire_bytes;
    if (peer.alive) t.longest_gap = std::max(t.longest_gap, peer.longest_merge_gap_epochs);
  }
  return t;
}

Json peer_json(const PeerResult& peer) {
  Json j;
  j["peer"] = peer.name;
  j["alive"] = peer.alive;
  j["reason"] = peer.reason;
  j["shard"] = peer.shard;
  j["samples"] = peer.counters.samples - peer.counters.inherited_samples;
  j["merges"] = peer.counters.merges_started;
  j["merges_applied"] = peer.counters.merges_applied;
  j["merges_refused"] = peer.counters.merges_refused;
  j["merges_skipped"] = peer.counters.merges_skipped;
  j["payload_bytes"] = peer.payload_bytes;
  j["wire_bytes"] = peer.wire_bytes;
  j["longest_merge_gap_epochs"] = peer.longest_merge_gap_epochs;
  if (peer.wall_s) j["wall_s"] = *peer.wall_s;
  if (peer.train_s) j["train_s"] = *peer.train_s;
  if (peer.cpu_s) j["cpu_s"] = *peer.cpu_s;
  if (peer.io_cpu_s) j["io_cpu_s"] = *peer.io_cpu_s;
  if (peer.peak_rss_bytes) j["peak_rss_bytes"] = *peer.peak_rss_bytes;
  if (peer.frames_handed_over) j["frames_handed_over"] = *peer.frames_handed_over;
  if (!peer.alive) return j;
  j["test_acc"] = peer.test.accuracy;
  j["test_loss"] = peer.test.loss;
  if (peer.test_final) j["test_acc_final"] = peer.test_final->accuracy;
  return j;
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

// Only what was measured: a live pool has no virtual time, a peer's CPU time is a live peer's.
std::string time_line(const PoolResult& result) {
  std::string text = format("time     %.1f s wall", result.wall_s);
  if (result.virtual_s) text += format(", %.3f s virtual", *result.virtual_s);
  if (result.training_share) {
    text += format("    %.0f %% of the %s' time in mini-batches", 100.0 * *result.training_share,
                   result.virtual_s ? "threads" : "peers");
  }
  if (result.io_cpu_share)
    text += format(", %.1f %% of CPU for sockets", 100.0 * *result.io_cpu_share);
  return text + "\n";
}

struct ExampleSums {
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> reserve, retired, quarantined, wrong, found;
  double retired_right = 0.0;  // of the retired ones, those right when last looked at

  std::optional<double> retired_acc() const {
    if (retired.value_or(0) == 0) return std::nullopt;
    return retired_right / static_cast<double>(*retired);
  }
};

void add(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more) {
  if (more) sum = sum.value_or(0) + *more;
}

ExampleSums sum_examples(const PoolResult& result) {
  ExampleSums sums;
  for (const PeerResult& peer : result.peers) {
    sums.bytes += peer.example_bytes.value_or(0);
    if (!peer.alive) continue;
    add(sums.reserve, peer.examples.reserve);
    add(sums.retired, peer.examples.retired);
    add(sums.quarantined, peer.examples.quarantined);
    add(sums.wrong, peer.examples.wrong);
    add(sums.found, peer.examples.wrong_quarantined);
    sums.retired_right += peer.examples.retired_acc.value_or(0.0) *
                          static_cast<double>(peer.examples.retired.value_or(0));
  }
  return sums;
}

void append_examples(const PoolResult& result, Json& j) {
  const ExampleSums sums = sum_examples(result);
  if (!sums.reserve) return;
  j["examples_reserve"] = *sums.reserve;
  j["examples_retired"] = *sums.retired;
  j["retired_acc"] = or_null(sums.retired_acc());
  j["examples_quarantined"] = *sums.quarantined;
  if (!sums.wrong) return;
  j["wrong_labels"] = *sums.wrong;
  j["wrong_quarantined"] = *sums.found;
}

std::string examples_line(const PoolResult& result) {
  const ExampleSums sums = sum_examples(result);
  if (!sums.reserve) return {};
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::string text = format("examples %llu in reserve, %llu retired", number(*sums.reserve),
                            number(*sums.retired));
  if (const auto right = sums.retired_acc()) text += format(" (%.2f %% right)", 100.0 * *right);
  text += format(", %llu in quarantine", number(*sums.quarantined));
  if (sums.wrong)
    text +=
        format(", of which %llu of %llu wrong labels", number(*sums.found), number(*sums.wrong));
  return text + "\n";
}

}  // namespace

Json result_json(const PoolResult& result) {
  const Totals t = add_up(result);
  Json j;
  j["verdict"] = result.verdict;
  if (!result.reason.empty()) j["reason"] = result.reason;
  j["exit_code"] = result.exit_code;
  j["wall_s"] = result.wall_s;
  j["virtual_s"] = or_null(result.virtual_s);
  j["training_share"] = or_null(result.training_share);
  if (result.io_cpu_share) j["io_cpu_share"] = *result.io_cpu_share;
  if (result.peak_rss_bytes_mean) j["peak_rss_bytes_mean"] = *result.peak_rss_bytes_mean;
  j["peers"] = result.peers.size();
  j["peers_lost"] = result.lost;
  j["samples"] = t.samples;
  j["merges"] = t.started;
  j["merges_applied"] = t.applied;
  j["merges_refused"] = t.refused;
  j["merges_skipped"] = t.skipped;
  j["payload_bytes"] = t.payload;
  j["wire_bytes"] = t.wire;
  j["example_bytes"] = sum_examples(result).bytes;  // of the payload
  const bool anyone = result.lost < result.peers.size();
  const auto number = [&](double value) {
    return anyone ? Json(value) : Json(nullptr);
  };  // of nobody: null
  j["test_acc_mean"] = number(result.test_acc_mean);
  j["test_acc_min"] = number(result.test_acc_min);
  j["test_acc_max"] = number(result.test_acc_max);
  j["test_acc_averaged_model"] = number(result.test_acc_averaged_model);
  j["test_loss_mean"] = number(result.test_loss_mean);
  if (result.test_acc_final_mean) {
    j["test_acc_final_mean"] = *result.test_acc_final_mean;
    j["test_acc_final_min"] = *result.test_acc_final_min;
    j["test_acc_final_max"] = *result.test_acc_final_max;
  }
  if (result.communities) {
    const PoolCommunities& found = *result.communities;
    j["communities"] = found.count;
    j["communities_agreed"] = found.agreed;
    j["community_labels"] = found.labels;
    if (found.rand_index) j["rand_index"] = *found.rand_index;
    if (found.adjusted_rand_index) j["adjusted_rand_index"] = *found.adjusted_rand_index;
  }
  append_examples(result, j);
  j["consensus_distance"] = number(result.consensus_distance);
  j["mean_merge_age_epochs"] = result.mean_merge_age_epochs;
  j["longest_merge_gap_epochs"] = t.longest_gap;
  if (result.target_reached_s) j["target_reached_s"] = *result.target_reached_s;
  if (result.votes_heard > 0) j["votes_heard"] = result.votes_heard;
  j["digest"] = result.digest.hex();
  j["per_peer"] = Json::array();
  for (const PeerResult& peer : result.peers) j["per_peer"].push_back(peer_json(peer));
  return j;
}

std::string human_bytes(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024.0 && unit < 4) {
    bytes /= 1024.0;
    ++unit;
  }
  return format(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

namespace {

// The same pool averaging all gradients, to compare with: what is refused there is taken back.
std::string baseline_command(const RunConfig& config, const std::string& run_dir) {
  static constexpr std::pair<const char*, Spec RunConfig::*> kOfGossip[] = {
      {"merge-every", &RunConfig::merge_every},
      {"topology", &RunConfig::topology},
      {"merge", &RunConfig::merge},
      {"codec", &RunConfig::codec},
      {"outer", &RunConfig::outer},
      {"cluster", &RunConfig::cluster},
      {"share", &RunConfig::share},
      {"trade", &RunConfig::trade},
      {"tune", &RunConfig::tune},
      {"end-game", &RunConfig::end_game},
      {"sampling", &RunConfig::sampling},
      {"retire", &RunConfig::retire},
      {"quarantine", &RunConfig::quarantine}};
  std::string command = "hearsay sim --protocol ddp --config " + run_dir + "/run.json";
  for (const auto& [name, member] : kOfGossip) {
    const auto usual = find_option(name)->default_text;
    const std::string& text = (config.*member).text;
    if (!text.empty() && text != usual)
      command += format(" --%s %s", name, std::string(usual).c_str());
  }
  if (config.bandwidth != "off") command += " --bandwidth off";
  if (config.wait) command += " --wait=off";
  if (config.log_examples) command += " --log-examples=off";
  if (config.until_converged) command += " --until-converged=off";
  return command;
}

}  // namespace

std::string closing_block(const PoolResult& result, const RunConfig& config,
                          const std::string& run_dir) {
  const Totals t = add_up(result);
  const std::size_t n = result.peers.size();
  std::string verdict = result.verdict + format(" (%zu of %zu peers", n - result.lost, n);
  verdict += result.lost > 0 ? format(", %u lost)", result.lost) : ")";
  std::string text = format("run      %-36s verdict %s\n", run_dir.c_str(), verdict.c_str());
  if (!result.reason.empty()) text += "         " + result.reason + "\n";
  if (n > result.lost) {
    text += format("model    export/model.safetensors  acc %.4f    best single %.4f\n",
                   result.test_acc_averaged_model, result.test_acc_max);
    text += format(
        "peers    acc mean %.4f  min %.4f  max %.4f    loss %.4f    longest merge gap %.1f "
        "epochs\n",
        result.test_acc_mean, result.test_acc_min, result.test_acc_max, result.test_loss_mean,
        t.longest_gap);
    if (result.test_acc_final_mean) {
      text += format("end game acc mean %.4f  min %.4f  max %.4f\n", *result.test_acc_final_mean,
                     *result.test_acc_final_min, *result.test_acc_final_max);
    }
  }
  if (config.target) {
    text += result.target_reached_s
                ? format("target   %s >= %g after %.3f %ss\n", config.target->metric.c_str(),
                         config.target->value, *result.target_reached_s,
                         result.virtual_s ? "virtual " : "")
                : format("target   %s >= %g missed, best %.4f\n", config.target->metric.c_str(),
                         config.target->value, result.target_best);
  }
  if (const auto& found = result.communities) {
    text += format("groups   %u found, by %u of %zu peers alike", found->count, found->agreed,
                   n - result.lost);
    if (found->rand_index)
      text += format("    Rand index with the split's %.3f", *found->rand_index);
    text += "\n";
  }
  text += examples_line(result);
  text += format(
      "traffic  %s payload, %s wire    merges %llu, refused %llu, mean age %.2f epochs\n",
      human_bytes(static_cast<double>(t.payload)).c_str(),
      human_bytes(static_cast<double>(t.wire)).c_str(), static_cast<unsigned long long>(t.started),
      static_cast<unsigned long long>(t.refused), result.mean_merge_age_epochs);
  text += time_line(result);
  if (config.protocol.name != "ddp") {
    text += "compare  " + baseline_command(config, run_dir) + "\n";
  }
  return text;
}

}  // namespace hearsay::runtime
