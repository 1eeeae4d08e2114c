// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/pool_result.hpp"

#include <algorithm>
#include <csignal>
#include <map>
#include <tuple>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/ops/merge_ops.hpp"

namespace hearsay::runtime {
namespace {

constexpr int kSignalExit = 128;  // a shell's convention: 130 for SIGINT, 143 for SIGTERM

Evaluation mean_of(const std::vector<Evaluation>& parts) {
  Evaluation mean;
  for (const Evaluation& e : parts) {
    mean.loss += e.loss;
    mean.accuracy += e.accuracy;
    mean.examples = e.examples;
  }
  const double n = static_cast<double>(std::max<std::size_t>(1, parts.size()));
  return {mean.loss / n, mean.accuracy / n, mean.examples};
}

std::pair<double, double> accuracy_range(const std::vector<Evaluation>& parts) {
  const auto [low, high] = std::minmax_element(
      parts.begin(), parts.end(),
      [](const Evaluation& a, const Evaluation& b) { return a.accuracy < b.accuracy; });
  return {low->accuracy, high->accuracy};
}

double epochs(double samples, const PeerResult& peer) {
  return samples / static_cast<double>(std::max<std::size_t>(1, peer.shard));
}

// Sums of what peers measured about their processes, over those that measured it.
void add_measured(PoolResult& result) {
  double wall_s = 0.0, train_s = 0.0, cpu_s = 0.0, io_cpu_s = 0.0, rss_bytes = 0.0;
  std::size_t with_rss = 0;
  for (const PeerResult& peer : result.peers) {
    if (peer.wall_s && peer.train_s) {
      wall_s += *peer.wall_s;
      train_s += *peer.train_s;
    }
    if (peer.cpu_s && peer.io_cpu_s) {
      cpu_s += *peer.cpu_s;
      io_cpu_s += *peer.io_cpu_s;
    }
    if (peer.peak_rss_bytes) {
      rss_bytes += static_cast<double>(*peer.peak_rss_bytes);
      ++with_rss;
    }
  }
  if (wall_s > 0.0) result.training_share = train_s / wall_s;
  if (cpu_s > 0.0) result.io_cpu_share = io_cpu_s / cpu_s;
  if (with_rss > 0) result.peak_rss_bytes_mean = rss_bytes / static_cast<double>(with_rss);
}

// Everything about the live peers' models that is of several of them.
void compare_models(const std::vector<EndedPeer>& peers, const EvaluatePeer& evaluate,
                    PoolResult& result) {
  std::vector<std::span<const float>> models;
  std::vector<Evaluation> tests, finals;
  std::map<std::uint32_t, std::size_t> groups;  // group -> one of its peers
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const PeerResult& peer = result.peers[i];
    if (!peer.alive) continue;
    models.push_back(peers[i].counted);
    tests.push_back(peer.test);
    if (peer.test_final) finals.push_back(*peer.test_final);
    groups.emplace(peers[i].group, i);
  }
  if (models.empty()) return;
  std::tie(result.test_acc_min, result.test_acc_max) = accuracy_range(tests);
  result.test_acc_mean = mean_of(tests).accuracy;
  result.test_loss_mean = mean_of(tests).loss;
  const std::vector<float> average = mean_weights(models);
  std::vector<Evaluation> averaged;
  for (const auto& [group, peer] : groups) averaged.push_back(evaluate(peer, average));
  result.test_acc_averaged_model = mean_of(averaged).accuracy;
  result.consensus_distance = 0.0;
  for (const auto& model : models)
    result.consensus_distance += kernels::squared_distance(model, average);
  result.consensus_distance /= static_cast<double>(models.size());
  if (finals.empty()) return;
  result.test_acc_final_mean = mean_of(finals).accuracy;
  std::tie(result.test_acc_final_min, result.test_acc_final_max) = accuracy_range(finals);
}

std::string early_end(const PoolResult& result, std::uint32_t n, bool converged, bool timed_out) {
  if (timed_out) return "time limit reached";
  if (result.target_reached_s) return "target reached";
  if (!converged) return {};
  if (result.votes_heard == n) return "converged (all " + std::to_string(n) + " votes)";
  return "stopped with " + std::to_string(result.votes_heard) + " of " + std::to_string(n) +
         " votes";
}

}  // namespace

std::vector<float> mean_weights(const std::vector<std::span<const float>>& models) {
  if (models.empty()) return {};
  std::vector<double> sum(models.front().size(), 0.0);
  for (const auto& model : models) {
    HS_CHECK(model.size() == sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(model[i]);
  }
  std::vector<float> mean(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    mean[i] = static_cast<float>(sum[i] / static_cast<double>(models.size()));
  }
  return mean;
}

void summarise(const std::vector<EndedPeer>& peers, bool end_game, const EvaluatePeer& evaluate,
               PoolResult& result) {
  kernels::DigestBuilder digest;
  double age_epochs = 0.0;
  std::uint64_t merges = 0;
  std::vector<std::optional<std::string>> told;
  std::vector<std::uint32_t> groups;
  result.peers.clear();
  result.lost = 0;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    PeerResult peer = peers[i].known;
    peer.longest_merge_gap_epochs =
        epochs(static_cast<double>(peer.counters.longest_gap_samples), peer);
    age_epochs += epochs(peer.counters.age_samples_sum, peer);
    merges += peer.counters.merges_applied;
    if (peer.reason == "converged")
      result.votes_heard = std::max(result.votes_heard, peer.counters.votes_heard);
    if (peer.alive) {
      if (peer.test.examples == 0) peer.test = evaluate(i, peers[i].counted);
      if (end_game && !peer.test_final) peer.test_final = evaluate(i, peers[i].final_weights);
      digest.add(peers[i].final_weights);
    } else {
      ++result.lost;
    }
    told.push_back(peer.alive ? peer.communities : std::nullopt);
    groups.push_back(peers[i].group);
    result.peers.push_back(std::move(peer));
  }
  result.communities = agreed_communities(told, groups);
  result.digest = digest.finish();
  result.mean_merge_age_epochs = merges > 0 ? age_epochs / static_cast<double>(merges) : 0.0;
  compare_models(peers, evaluate, result);
  add_measured(result);
}

void judge(const RunConfig& config, const HowItEnded& how, PoolResult& result) {
  const auto n = static_cast<std::uint32_t>(result.peers.size());
  const std::uint32_t live = n - result.lost;
  const auto count_reason = [&](const std::string& reason) {
    return std::count_if(result.peers.begin(), result.peers.end(),
                         [&](const auto& p) { return p.reason == reason; });
  };
  const auto set = [&](std::string verdict, int code, std::string reason) {
    result.verdict = std::move(verdict);
    result.exit_code = code;
    result.reason = std::move(reason);
  };
  result.reason = early_end(result, n, count_reason("converged") > 0, count_reason("time") > 0);
  const auto alive = std::count_if(result.peers.begin(), result.peers.end(),
                                   [](const auto& p) { return p.alive; });
  if (!how.broken.empty()) {
    std::string lines = how.broken.front();
    for (std::size_t i = 1; i < how.broken.size(); ++i) lines += "; " + how.broken[i];
    return set("invariant broken", 1, std::move(lines));
  }
  if (how.signal != 0 || (alive > 0 && count_reason("interrupted") >= alive)) {
    return set("interrupted", kSignalExit + (how.signal != 0 ? how.signal : SIGINT),
               "stopped by a signal");
  }
  if (how.stuck || count_reason("stuck") > 0) {
    return set("stuck", 1,
               "live peers wait for a partner that is gone; a synchronous protocol cannot go on "
               "without it");
  }
  if (live < config.min_peers) {
    const auto diverged = count_reason("diverged");
    std::string why = std::to_string(live) + " of " + std::to_string(n) +
                      " peers alive, --min-peers " + std::to_string(config.min_peers);
    if (diverged > 0) {
      why += "; " + std::to_string(diverged) +
             " diverged (loss not finite): try a lower --optimizer lr or clip=1";
    }
    return set("lost quorum", 3, std::move(why));
  }
  if (config.target && !result.target_reached_s) {
    return set("target missed", 1,
               config.target->metric + " reached " + std::to_string(result.target_best) + ", not " +
                   std::to_string(config.target->value));
  }
  if (!result.faults_never_fired.empty()) {
    set("fault never fired", 1,
        "--chaos " + result.faults_never_fired.front() + " never happened: the run ended before");
  }
}

}  // namespace hearsay::runtime
