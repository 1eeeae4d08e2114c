// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "gossip/limits.hpp"
#include "kernels/core/errc.hpp"
#include "kernels/ops/gemm.hpp"
#include "runtime/data/describe.hpp"
#include "runtime/device/device_lane.hpp"
#include "runtime/device/device_model.hpp"
#include "runtime/host/build_codec.hpp"
#include "runtime/host/build_reduce.hpp"
#include "runtime/host/host_model.hpp"
#include "runtime/host/thread_lane.hpp"
#include "runtime/sim/checks/check.hpp"
#include "runtime/train/nn_trainer.hpp"

namespace hearsay::runtime {
namespace {

using kernels::PeerId;

constexpr double kMostSeconds = 1e9;  // nanoseconds in 63 bits hold nine times that
constexpr auto kStopDeadline = std::chrono::seconds(10);

std::size_t thread_count(std::uint32_t asked) {
  return asked > 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
}

std::unique_ptr<ComputeLane> make_lane(const DeviceChoice& device, std::size_t threads) {
  if (device.on_gpu()) return std::make_unique<DeviceLane>(threads);
  return std::make_unique<ThreadLane>(threads);
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

}  // namespace

Simulation::Simulation(const RunConfig& config, Dataset dataset)
    : config_(config),
      options_(sim_options(config)),
      plan_(build_pool_plan(config)),
      device_(choose_devices(config.device)),
      lane_(make_lane(device_, thread_count(config.threads))),
      alive_(config.peers, true) {
  kernels::use_one_blas_thread();
  if (plan_.gossips) options_.stop_deadline = kStopDeadline;
  optimizer_after_sums(config);  // refuses early
  build_schedule(config.schedule);
  partition_ = make_partition(config.split, dataset.train.labels, dataset.train.classes,
                              config.peers, config.seed);
  data_digest_ = dataset_digest(dataset);
  all_examples_ = dataset.train.count();
  const std::size_t chunk = std::max<std::size_t>(config.batch, kEvaluationChunk);
  context_ = build_context(config.model, dataset.train, lane_->workers(), chunk);
  plan_.codec = build_pool_codec(config, layout(), context_->first_weights(config.seed));
  refuse_on_gpu(plan_.examples.get(), device_.on_gpu());
  if (plan_.examples && plan_.examples->quarantine && partition_.noise_share > 0.0)
    wrong_labels_ = wrong_labels(dataset.train, partition_, config.seed);
  std::uint64_t most_steps = 0;
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    shard_sizes_.push_back(partition_.owned[i].size());
    most_steps = std::max<std::uint64_t>(
        most_steps, (partition_.owned[i].size() + config.batch - 1) / config.batch);
  }
  most_steps_ = most_steps;
  if (!fits_on_gpu(device_, [&] { make_peers(dataset); })) {
    peers_.clear();
    gpus_.reset();
    lane_ = make_lane(device_, lane_->workers());
    make_peers(dataset);
  }
  options_.has_mass = config.protocol.name == "push-sum";
  options_.is_one_way =
      options_.has_mass || config.protocol.name == "push" || config.protocol.name == "choco";
  if (plan_.gossips) {
    options_.topology = plan_.topology;
    options_.steps_between_merges = static_cast<std::uint64_t>(
        std::ceil(plan_.blocks.lambda * static_cast<double>(most_steps_)));
  }
  if (plan_.examples && plan_.examples->passing)
    train_ = std::make_unique<const ImageSet>(dataset.train);
  options_.rebirth.new_trainer = [this](SimPeer& peer, PeerId id) {
    ImageSet shard = train_ ? make_shard(*train_, partition_, id.value, config_.seed)
                            : dynamic_cast<const ShardTrainer&>(*peer.trainer).shard();
    make_trainer(peer, id.value, std::move(shard));
  };
  options_.rebirth.new_protocol = [this](SimPeer& peer, PeerId id, std::uint32_t incarnation) {
    PeerPlace place;
    place.incarnation = incarnation;
    place.late = true;
    peer.protocol = build_protocol(config_, plan_, id, peer.trainer->steps_per_epoch(), place);
  };
  options_.rebirth.recollect = [this](SimPeer& peer, PeerId id,
                                      const std::vector<std::string>& written) {
    if (!train_) return;
    const gossip::Holdings held = gossip::read_holdings(
        partition_.owned[id.value], shard_labels(*train_, partition_, id.value, config_.seed),
        written, config_.peers);
    dynamic_cast<ShardTrainer&>(*peer.trainer).recollect(held, *train_);
    peer.protocol->recollect(held);
  };
  host_ = std::make_unique<SimHost>(options_, peers_, *lane_);
  test_ = std::move(dataset.test);  // the training set goes: every peer holds its own shard
}

void Simulation::make_peers(const Dataset& dataset) {
  if (device_.on_gpu()) {
    gpus_ = std::make_unique<DevicePool>(device_, *context_, config_.peers, config_.batch,
                                         optimizer_after_sums(config_));
    gpus_->keep_test_set(dataset.test);
  }
  for (std::uint32_t i = 0; i < config_.peers; ++i) {
    SimPeer peer;
    make_trainer(peer, i, make_shard(dataset.train, partition_, i, config_.seed));
    peer.protocol = build_protocol(config_, plan_, PeerId(i), peer.trainer->steps_per_epoch());
    peers_.push_back(std::move(peer));
  }
}

void Simulation::make_trainer(SimPeer& peer, std::uint32_t id, ImageSet shard) {
  const NnTrainerOptions options{config_.seed,
                                 id,
                                 config_.batch,
                                 config_.epochs,
                                 plan_.equal_steps ? most_steps_ : 0,
                                 optimizer_after_sums(config_),
                                 build_schedule(config_.schedule),
                                 plan_.probe_share(),
                                 plan_.examples,
                                 all_examples_};
  peer.model.reset();  // it borrows the trainer
  if (gpus_) {
    auto trainer = gpus_->make_trainer(*context_, std::move(shard), options, id);
    peer.model = std::make_unique<DeviceModel>(*trainer, snapshots_, 0, plan_.gossips,
                                               DeviceModel::Snapshots::stay);
    peer.trainer = std::move(trainer);
  } else {
    peer.trainer = std::make_unique<NnTrainer>(*context_, std::move(shard), options);
    peer.model = std::make_unique<HostModel>(*peer.trainer, snapshots_, 0, plan_.gossips);
  }
  peer.model->keep_digests(digest_mode(config_.log_digests, DigestMode::off));
}

const ShardTrainer& Simulation::trainer_of(std::uint32_t peer) const {
  return dynamic_cast<const ShardTrainer&>(*peers_[peer].trainer);
}

Evaluation Simulation::evaluate_peer(std::uint32_t peer, std::span<const float> weights,
                                     std::size_t limit) {
  const auto label = [&](std::uint8_t l) {
    return rotated_label(partition_, peer, l, test_.classes);
  };
  if (gpus_) return gpus_->group_of(peer).evaluate(weights, limit, label);
  return evaluate(
      *context_, test_, weights, limit, label,
      [&](std::size_t count, const std::function<void(std::size_t, std::size_t)>& body) {
        lane_->parallel_for(count, body);
      });
}

PoolResult Simulation::run(EventSink& events, SimHooks hooks) {
  begin_ = std::chrono::steady_clock::now();
  hooks.evaluate = [&](PeerId peer, std::span<const float> weights, std::size_t limit) {
    return evaluate_peer(peer.value, weights, limit);
  };
  SimChecks checks;
  if (config_.check)
    host_->after_event = [&](gossip::Time now) { checks.after_event(*host_, now); };
  const SimOutcome& outcome = host_->run(events, std::move(hooks));
  if (config_.check) checks.at_end(*host_, outcome.virtual_time);

  PoolResult result;
  result.virtual_s = std::chrono::duration<double>(outcome.virtual_time).count();
  result.target_best = outcome.target_best;
  if (outcome.target_reached)
    result.target_reached_s = std::chrono::duration<double>(*outcome.target_reached).count();
  result.faults_never_fired = outcome.faults_never_fired;
  for (std::size_t i = 0; i < alive_.size(); ++i) alive_[i] = outcome.peers[i].alive;
  summarise(
      ended_peers(outcome), plan_.end_game > 0,
      [&](std::size_t peer, std::span<const float> weights) {
        return evaluate_peer(static_cast<std::uint32_t>(peer), weights, 0);
      },
      result);
  result.wall_s = wall_s();
  result.training_share =
      training_s() / (result.wall_s * static_cast<double>(lane_->trains_at_once()));
  judge(config_, {.stuck = outcome.stuck, .broken = checks.breaches()}, result);
  return result;
}

double Simulation::wall_s() const {
  if (begin_ == std::chrono::steady_clock::time_point()) return earlier_wall_s_;
  const auto now = std::chrono::steady_clock::now();
  return earlier_wall_s_ + std::chrono::duration<double>(now - begin_).count();
}

namespace {

std::string prefix_of(std::size_t peer) {
  return gossip::peer_name(PeerId(static_cast<std::uint32_t>(peer))) + "/";
}

}  // namespace

Checkpoint Simulation::checkpoint() {
  Checkpoint made;
  gossip::Archive archive;
  archive("pool", *host_);  // first: waits for the mini-batches in flight
  double wall = wall_s(), training = training_s();
  archive("wall_s", wall)("training_s", training);
  TensorPart model{kModelFile, {}, {}, {{"format", "pt"}, {"hearsay.peer", "all"}}};
  TensorPart optimizer{kOptimizerFile, {}, {}, {{"format", "pt"}}};
  for (std::size_t i = 0; i < peers_.size(); ++i)
    append_trainer(*peers_[i].trainer, layout(), prefix_of(i), model, optimizer);
  made.about["kind"] = "simulated pool";
  made.about["peers"] = peers_.size();
  made.owned = archive.arrays();
  made.tensors = {std::move(model), std::move(optimizer), arrays_part(made.owned)};
  made.state = archive.json();
  return made;
}

void Simulation::resume(LoadedCheckpoint& from) {
  TensorsTaken taken;
  for (std::size_t i = 0; i < peers_.size(); ++i)
    take_trainer(*peers_[i].trainer, layout(), prefix_of(i), from, taken);
  try {
    gossip::Archive archive(std::move(from.state), take_arrays(from));
    archive.of_model(layout().size());
    archive("pool", *host_)("wall_s", earlier_wall_s_)("training_s", earlier_training_s_);
  } catch (const gossip::ArchiveFault& fault) {
    throw kernels::DamagedFile(from.file("state.json"), 0, fault.what());
  }
}

std::vector<EndedPeer> Simulation::ended_peers(const SimOutcome& outcome) const {
  std::vector<EndedPeer> ended(peers_.size());
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    const PeerOutcome& end = outcome.peers[i];
    EndedPeer& peer = ended[i];
    peer.known.name = gossip::peer_name(PeerId(i));
    peer.known.alive = end.alive;
    peer.known.reason = end.reason;
    peer.known.shard = shard_sizes_[i];
    peer.known.counters = peers_[i].protocol->counters();
    if (const ExampleKeeper* keeper = trainer_of(i).examples_kept())
      peer.known.examples = tally_of(*keeper, trainer_of(i).shard().ids, wrong_labels_);
    peer.known.communities = community_text(peers_[i].protocol->communities());
    peer.known.payload_bytes = end.payload_bytes;
    peer.known.wire_bytes = end.wire_bytes;
    if (train_) peer.known.example_bytes = end.example_bytes;
    peer.group = partition_.group.empty() ? 0u : partition_.group[i];
    if (!end.alive) continue;
    peer.final_weights = peers_[i].trainer->read_weights();
    peer.counted = end.before_end_game.empty() ? peer.final_weights
                                               : std::span<const float>(end.before_end_game);
  }
  return ended;
}

std::span<const float> Simulation::weights(std::uint32_t peer) {
  return peers_[peer].trainer->read_weights();
}

ExportedModel Simulation::exported_model() const {
  std::vector<std::span<const float>> models;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (alive_[i]) models.push_back(peers_[i].trainer->read_weights());
  }
  return make_exported_model(config_, *context_, models);
}

Simulation::Sizes Simulation::sizes() const {
  const auto [low, high] = std::minmax_element(shard_sizes_.begin(), shard_sizes_.end());
  Sizes s{};
  s.parameters = layout().size();
  for (const std::size_t size : shard_sizes_) s.examples += size;
  s.smallest_shard = *low;
  s.largest_shard = *high;
  s.test_examples = test_.count();
  s.most_message_bytes = plan_.codec ? plan_.codec->most_bytes() : 0;
  if (!plan_.codec || plan_.codec->also_raw())
    s.most_message_bytes = std::max(s.most_message_bytes, sizeof(float) * s.parameters);
  s.steps_per_epoch = (*high + config_.batch - 1) / config_.batch;
  // weights, optimiser state, block mark, one snapshot sent and one received; the shard's bytes
  const std::size_t moments = config_.optimizer.name == "adamw" ? 2 : 1;
  s.bytes_a_peer = sizeof(float) * s.parameters * (2 + moments + (plan_.gossips ? 2 : 0)) +
                   *high * (test_.image_bytes() + 1);
  return s;
}

}  // namespace hearsay::runtime
