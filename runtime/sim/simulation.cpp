// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <thread>
#include <utility>

#include "gossip/limits.hpp"
#include "kernels/core/errc.hpp"
#include "kernels/ops/gemm.hpp"
#include "kernels/ops/merge_ops.hpp"
#include "runtime/data/describe.hpp"

namespace hearsay::runtime {
namespace {

using kernels::PeerId;

constexpr std::size_t kEvaluationChunk = 256;
constexpr double kProbeShare = 0.1;
constexpr double kMostSeconds = 1e9;  // nanoseconds in 63 bits hold nine times that
constexpr auto kStopDeadline = std::chrono::seconds(10);

std::size_t thread_count(std::uint32_t asked) {
  return asked > 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
}

SimOptions sim_options(const RunConfig& config) {
  SimOptions options;
  options.network = parse_network(config.net);
  options.compute = parse_compute(config.compute);
  options.faults = parse_faults(config.chaos, config.peers, config.seed);
  options.seed = config.seed;
  options.epochs = config.epochs;
  options.eval_every_epochs = parse_number("--eval-every", config.eval_every.name);
  options.eval_examples = parse_count("--eval-every", config.eval_every.arg("n").value_or("0"));
  if (config.target) options.target_accuracy = config.target->value;
  options.time_limit_s = config.time_s;
  if (config.time_s && !(*config.time_s > 0.0 && *config.time_s <= kMostSeconds)) {
    throw kernels::UsageError("--time: a virtual time limit lies above 0 and below 1e9 seconds");
  }
  return options;
}

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

std::vector<float> mean_weights(const std::vector<std::span<const float>>& models) {
  if (models.empty()) return {};
  std::vector<double> sum(models.front().size(), 0.0);
  for (const auto& model : models) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(model[i]);
  }
  std::vector<float> mean(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    mean[i] = static_cast<float>(sum[i] / static_cast<double>(models.size()));
  }
  return mean;
}

}  // namespace

Simulation::Simulation(const RunConfig& config, Dataset dataset)
    : config_(config),
      options_(sim_options(config)),
      plan_(build_pool_plan(config)),
      lane_(thread_count(config.threads)),
      alive_(config.peers, true) {
  kernels::use_one_blas_thread();
  if (plan_.gossips) options_.stop_deadline = kStopDeadline;
  const OptimizerOptions optimizer = parse_optimizer(config.optimizer);
  const ScheduleKind schedule = build_schedule(config.schedule);
  partition_ = make_partition(config.split, dataset.train.labels, dataset.train.classes,
                              config.peers, config.seed);
  data_digest_ = dataset_digest(dataset);
  const std::size_t chunk = std::max<std::size_t>(config.batch, kEvaluationChunk);
  context_ = std::make_unique<NnContext>(
      build_model(config.model, dataset.train.image_bytes(), dataset.train.classes),
      standardise(dataset.train), lane_.workers(), chunk);
  std::uint64_t most_steps = 0;
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    shard_sizes_.push_back(partition_.owned[i].size());
    most_steps = std::max<std::uint64_t>(
        most_steps, (partition_.owned[i].size() + config.batch - 1) / config.batch);
  }
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    NnTrainerOptions options{config.seed,
                             i,
                             config.batch,
                             config.epochs,
                             plan_.equal_steps ? most_steps : 0,
                             optimizer,
                             schedule,
                             plan_.needs_probe ? kProbeShare : 0.0};
    SimPeer peer;
    peer.trainer = std::make_unique<NnTrainer>(
        *context_, make_shard(dataset.train, partition_, i, config.seed), options);
    peer.model = std::make_unique<HostModel>(*peer.trainer, snapshots_, 0, plan_.gossips);
    peer.protocol = build_protocol(config, plan_, PeerId(i), peer.trainer->steps_per_epoch());
    peers_.push_back(std::move(peer));
  }
  test_ = std::move(dataset.test);  // the training set goes: every peer holds its own shard
}

Evaluation Simulation::evaluate_peer(std::uint32_t peer, std::span<const float> weights,
                                     std::size_t limit) {
  const auto label = [&](std::uint8_t l) {
    return rotated_label(partition_, peer, l, test_.classes);
  };
  return evaluate(
      *context_, test_, weights, limit, label,
      [&](std::size_t count, const std::function<void(std::size_t, std::size_t)>& body) {
        lane_.parallel_for(count, body);
      });
}

PoolResult Simulation::run(EventSink& events, SimHooks hooks) {
  const auto begin = std::chrono::steady_clock::now();
  hooks.evaluate = [&](PeerId peer, std::span<const float> weights, std::size_t limit) {
    return evaluate_peer(peer.value, weights, limit);
  };
  SimHost host(options_, peers_, lane_, events, std::move(hooks));
  const SimOutcome outcome = host.run();

  PoolResult result;
  summarise(outcome, result);
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.training_share =
      lane_.spent().training_s / (result.wall_s * static_cast<double>(lane_.workers()));
  judge(outcome, result);
  return result;
}

void Simulation::summarise(const SimOutcome& outcome, PoolResult& result) {
  result.virtual_s = std::chrono::duration<double>(outcome.virtual_time).count();
  result.target_best = outcome.target_best;
  if (outcome.target_reached)
    result.target_reached_s = std::chrono::duration<double>(*outcome.target_reached).count();
  result.faults_never_fired = outcome.faults_never_fired;
  std::vector<std::span<const float>> models;
  std::vector<Evaluation> tests, finals;
  kernels::DigestBuilder digest;
  std::map<std::uint32_t, std::uint32_t> groups;  // group -> one of its peers
  double age_epochs = 0.0;
  std::uint64_t merges = 0;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    const PeerOutcome& end = outcome.peers[i];
    PeerResult peer;
    peer.name = gossip::peer_name(PeerId(i));
    peer.alive = alive_[i] = end.alive;
    peer.reason = end.reason;
    peer.shard = shard_sizes_[i];
    peer.counters = peers_[i].protocol->counters();
    peer.payload_bytes = end.payload_bytes;
    peer.wire_bytes = end.wire_bytes;
    peer.longest_merge_gap_epochs = static_cast<double>(peer.counters.longest_gap_samples) /
                                    static_cast<double>(std::max<std::size_t>(1, peer.shard));
    age_epochs +=
        peer.counters.age_samples_sum / static_cast<double>(std::max<std::size_t>(1, peer.shard));
    merges += peer.counters.merges_applied;
    result.votes_heard =
        std::max(result.votes_heard, end.reason == "converged" ? peer.counters.votes_heard : 0u);
    if (end.alive) {
      const std::span<const float> final_weights = peers_[i].trainer->weights();
      const std::span<const float> counted =
          end.before_end_game.empty() ? final_weights : std::span<const float>(end.before_end_game);
      peer.test = evaluate_peer(i, counted, 0);
      if (plan_.end_game > 0)
        finals.push_back(*(peer.test_final = evaluate_peer(i, final_weights, 0)));
      digest.add(final_weights);
      models.push_back(counted);
      tests.push_back(peer.test);
      groups.emplace(partition_.group.empty() ? 0u : partition_.group[i], i);
    } else {
      ++result.lost;
    }
    result.peers.push_back(std::move(peer));
  }
  result.digest = digest.finish();
  result.mean_merge_age_epochs = merges > 0 ? age_epochs / static_cast<double>(merges) : 0.0;
  if (models.empty()) return;
  const auto [low, high] = std::minmax_element(
      tests.begin(), tests.end(),
      [](const Evaluation& a, const Evaluation& b) { return a.accuracy < b.accuracy; });
  result.test_acc_min = low->accuracy;
  result.test_acc_max = high->accuracy;
  result.test_acc_mean = mean_of(tests).accuracy;
  result.test_loss_mean = mean_of(tests).loss;
  const std::vector<float> average = mean_weights(models);
  std::vector<Evaluation> averaged;
  for (const auto& [group, peer] : groups) averaged.push_back(evaluate_peer(peer, average, 0));
  result.test_acc_averaged_model = mean_of(averaged).accuracy;
  for (const auto& model : models)
    result.consensus_distance += kernels::squared_distance(model, average);
  result.consensus_distance /= static_cast<double>(models.size());
  if (finals.empty()) return;
  result.test_acc_final_mean = mean_of(finals).accuracy;
  result.test_acc_final_min = finals.front().accuracy;
  result.test_acc_final_max = finals.front().accuracy;
  for (const Evaluation& e : finals) {
    result.test_acc_final_min = std::min(*result.test_acc_final_min, e.accuracy);
    result.test_acc_final_max = std::max(*result.test_acc_final_max, e.accuracy);
  }
}

void Simulation::judge(const SimOutcome& outcome, PoolResult& result) const {
  const auto n = static_cast<std::uint32_t>(peers_.size());
  const auto count_reason = [&](const std::string& reason) {
    return std::count_if(result.peers.begin(), result.peers.end(),
                         [&](const auto& p) { return p.reason == reason; });
  };
  const auto set = [&](std::string verdict, int code, std::string reason) {
    result.verdict = std::move(verdict);
    result.exit_code = code;
    result.reason = std::move(reason);
  };
  const std::string of_n = " of " + std::to_string(n);
  if (count_reason("converged") > 0) {
    result.reason = result.votes_heard == n
                        ? "converged (all " + std::to_string(n) + " votes)"
                        : "stopped with " + std::to_string(result.votes_heard) + of_n + " votes";
  }
  if (result.target_reached_s) result.reason = "target reached";
  if (count_reason("time") > 0) result.reason = "time limit reached";
  if (count_reason("interrupted") > 0) return set("interrupted", 130, "stopped by a signal");
  if (outcome.stuck) {
    return set("stuck", 1,
               "live peers wait for a partner that is gone; a synchronous protocol cannot go on "
               "without it");
  }
  if (n - result.lost < config_.min_peers) {
    const auto diverged = count_reason("diverged");
    std::string why = std::to_string(n - result.lost) + of_n + " peers alive, --min-peers " +
                      std::to_string(config_.min_peers);
    if (diverged > 0) {
      why += "; " + std::to_string(diverged) +
             " diverged (loss not finite): try a lower --optimizer lr or clip=1";
    }
    return set("lost quorum", 3, std::move(why));
  }
  if (config_.target && !result.target_reached_s) {
    return set("target missed", 1,
               config_.target->metric + " reached " + std::to_string(result.target_best) +
                   ", not " + std::to_string(config_.target->value));
  }
  if (!result.faults_never_fired.empty()) {
    set("fault never fired", 1,
        "--chaos " + result.faults_never_fired.front() + " never happened: the run ended before");
  }
}

std::string Simulation::export_rule() const {
  if (config_.protocol.name == "local") return "first live peer";
  return "uniform mean of the live peers";
}

std::vector<float> Simulation::exported_model() const {
  std::vector<std::span<const float>> models;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (alive_[i]) models.push_back(peers_[i].trainer->weights());
  }
  if (config_.protocol.name == "local" && !models.empty()) models.resize(1);
  std::vector<float> weights = mean_weights(models);
  if (!weights.empty()) fold_into_first_layer(context_->input(), context_->model(), weights);
  return weights;
}

Simulation::Sizes Simulation::sizes() const {
  const auto [low, high] = std::minmax_element(shard_sizes_.begin(), shard_sizes_.end());
  Sizes s{};
  s.parameters = layout().size();
  for (const std::size_t size : shard_sizes_) s.examples += size;
  s.smallest_shard = *low;
  s.largest_shard = *high;
  s.test_examples = test_.count();
  s.steps_per_epoch = (*high + config_.batch - 1) / config_.batch;
  // weights, optimiser state, block mark, one snapshot sent and one received; the shard's bytes
  const std::size_t moments = config_.optimizer.name == "adamw" ? 2 : 1;
  s.bytes_a_peer = sizeof(float) * s.parameters * (2 + moments + (plan_.gossips ? 2 : 0)) +
                   *high * (test_.image_bytes() + 1);
  return s;
}

}  // namespace hearsay::runtime
