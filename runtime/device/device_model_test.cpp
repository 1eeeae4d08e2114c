// SPDX-License-Identifier: Apache-2.0
// Merges of DeviceModel beside those of HostModel over the same kind of trainer: the same bits, in
// single calls and in whole pools. Needs a GPU; two trainers on one stand in for two GPUs.
#include "runtime/device/device_model.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/device/device_lane.hpp"
#include "runtime/device/device_pool.hpp"
#include "runtime/sim/testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay;
using namespace hearsay::runtime;

namespace {

constexpr std::uint32_t kBatch = 10;

// Two classes told apart by which half of a 4 x 4 image is brighter.
ImageSet halves(std::size_t count, std::uint64_t seed) {
  ImageSet images{4, 4, 2, std::vector<std::uint8_t>(count * 16), std::vector<std::uint8_t>(count)};
  kernels::Rng rng = kernels::Rng::stream(seed, "halves");
  for (std::size_t i = 0; i < count; ++i) {
    images.labels[i] = static_cast<std::uint8_t>(i % 2);
    for (std::size_t p = 0; p < 16; ++p) {
      const bool is_bright = (p < 8) == (images.labels[i] == 0);
      images.pixels[i * 16 + p] =
          static_cast<std::uint8_t>(rng.below(120) + (is_bright ? 120u : 0u));
    }
  }
  return images;
}

NnContext make_context() {
  const kernels::Network network = kernels::Network::mlp({16, 601, 2});  // three tiles, no quads
  return NnContext(network, standardise(halves(50, 1), network), 1, 64);
}

NnTrainerOptions options_of(std::uint32_t peer) {
  NnTrainerOptions o;
  o.peer = peer;
  o.batch = kBatch;
  o.epochs = 60;
  o.optimizer.lr = 0.05;
  o.probe_share = 0.25;
  return o;
}

enum class Merges { on_host, on_gpu };

std::unique_ptr<OwnModel> make_model(Merges where, DeviceTrainer& trainer, SnapshotPool& pool,
                                     DeviceModel::Snapshots snapshots) {
  if (where == Merges::on_host) return std::make_unique<HostModel>(trainer, pool, 0, true);
  return std::make_unique<DeviceModel>(trainer, pool, 0, true, snapshots);
}

// Peers 0 and 1 with merges on the host, 2 and 3 with merges on the GPU: the same models in pairs.
struct Pairs {
  explicit Pairs(std::vector<int> gpus) : pool({std::move(gpus), ""}, context, 8, kBatch, {}) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      trainers.push_back(pool.make_trainer(context, halves(40, i % 2), options_of(i % 2), i));
      models.push_back(make_model(i < 2 ? Merges::on_host : Merges::on_gpu, *trainers[i], snapshots,
                                  DeviceModel::Snapshots::stay));
    }
  }
  // In the given peer of both pairs.
  template <typename Body>
  void both(std::size_t peer, const Body& body) {
    body(*trainers[peer], *models[peer]);
    body(*trainers[peer + 2], *models[peer + 2]);
  }
  bool are_equal(std::size_t peer) {
    const auto a = trainers[peer]->read_weights(), b = trainers[peer + 2]->read_weights();
    return std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  }
  void train(std::size_t peer) {
    both(peer, [](DeviceTrainer& trainer, OwnModel&) { trainer.train(0); });
  }

  NnContext context = make_context();
  DevicePool pool;
  SnapshotPool snapshots;
  std::vector<std::unique_ptr<DeviceTrainer>> trainers;
  std::vector<std::unique_ptr<OwnModel>> models;
};

bool same_stats(const kernels::MergeStats& a, const kernels::MergeStats& b) {
  return a.displacement_sq == b.displacement_sq && a.weights_sq == b.weights_sq &&
         a.local_sq == b.local_sq && a.dot == b.dot && a.bad == b.bad;
}

bool same_values(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// One GPU; one GPU twice, where snapshots have to be brought over; two GPUs, where there are.
std::vector<std::vector<int>> all_places() {
  std::vector<std::vector<int>> places{{0}, {0, 0}};
  std::string why;
  if (cuda_devices(why).size() > 1) places.push_back({0, 1});
  return places;
}

std::vector<int> places() { return GENERATE(from_range(all_places())); }

// Names every event with its numbers, so that a difference in any of them shows.
struct TextSink final : EventSink {
  void write(gossip::Time t, std::string_view peer, const gossip::Event& event) override {
    text += std::to_string(t.count()) + " " + std::string(peer) + " " + std::string(event.name);
    for (const gossip::Field& field : event.fields) {
      if (const auto* number = std::get_if<double>(&field.value)) {
        char digits[40];
        std::snprintf(digits, sizeof digits, " %a", *number);
        text += digits;
      }
    }
    text += "\n";
    merges += event.name == "merge.applied";
  }
  std::string text;
  int merges = 0;
};

}  // namespace

TEST_CASE("statistics, blends and marks on the GPU have the bits of the host") {
  Pairs pairs(places());
  for (int round = 0; round < 6; ++round) {
    for (std::size_t peer = 0; peer < 2; ++peer) {
      pairs.both(peer, [](DeviceTrainer&, OwnModel& model) { model.begin_block(); });
      pairs.train(peer);
    }
    std::vector<merge::SnapshotRef> sent, came;
    pairs.both(0, [&](DeviceTrainer&, OwnModel& m) { sent.push_back(m.snapshot()); });
    pairs.both(1, [&](DeviceTrainer&, OwnModel& m) { came.push_back(m.snapshot()); });
    CHECK(same_values(came[0]->span(), came[1]->span()));
    pairs.train(0);
    const bool with_base = round % 2 == 1;
    const double alpha = round == 4 ? 1.0 : 0.3;
    std::vector<kernels::MergeStats> stats;
    std::vector<double> moved;
    for (std::size_t i = 0; i < 2; ++i) {
      OwnModel& model = *pairs.models[2 * i];
      const merge::Snapshot* const base = with_base ? sent[i].get() : nullptr;
      stats.push_back(model.measure(*came[i], base));
      model.blend(alpha, *came[i], base);
      moved.push_back(model.block_displacement());
    }
    CHECK(same_stats(stats[0], stats[1]));
    CHECK(stats[0].local_sq > 0.0);
    CHECK((moved[0] == moved[1] && moved[0] > 0.0));
    CHECK(pairs.are_equal(0));
    pairs.train(0);  // goes on from the blended weights
    CHECK(pairs.are_equal(0));
  }
}

TEST_CASE("snapshots from host memory are merged as those of the GPU, and go up once") {
  Pairs pairs(places());
  std::vector<float> values(pairs.models[0]->size());
  kernels::Rng rng = kernels::Rng::stream(4, "values");
  for (float& v : values) v = static_cast<float>(rng.normal());
  const merge::SnapshotRef in = pairs.snapshots.copy(values);
  CHECK(in->on_device == nullptr);
  std::vector<kernels::MergeStats> stats;
  pairs.both(0, [&](DeviceTrainer&, OwnModel& m) { stats.push_back(m.measure(*in, nullptr)); });
  const auto* const up = in->on_device.get();
  CHECK(up != nullptr);
  pairs.both(0, [&](DeviceTrainer&, OwnModel& m) { m.blend(0.5, *in, nullptr); });
  CHECK(in->on_device.get() == up);
  CHECK(same_stats(stats[0], stats[1]));
  CHECK(pairs.are_equal(0));
  CHECK(same_values(in->span(), values));
}

TEST_CASE("what goes through host memory sees the newest weights, and what it writes is merged") {
  Pairs pairs(places());
  std::vector<merge::SnapshotRef> came;
  pairs.train(1);
  pairs.both(1, [&](DeviceTrainer&, OwnModel& m) { came.push_back(m.snapshot()); });
  std::vector<gossip::Probe> probes;
  std::vector<std::string> digests;
  std::vector<std::vector<double>> losses;
  std::vector<merge::SnapshotRef> centres;
  for (std::size_t i = 0; i < 2; ++i) {
    OwnModel& model = *pairs.models[2 * i];
    model.keep_digests(DigestMode::on);
    model.begin_block();
    model.blend(0.4, *came[i], nullptr);
    digests.push_back(model.digest());
    probes.push_back(model.probe(nullptr));
    const gossip::Blend tried{0.7, *came[i], nullptr};
    losses.push_back(model.probe_losses(&tried));
    centres.push_back(model.crowd_center({}, std::vector{came[i], came[i]}));
    pairs.trainers[2 * i]->weights()[5] = 3.0f;  // a change in host memory, between merges
    model.blend(0.5, *centres[i], nullptr);
  }
  CHECK((digests[0] == digests[1] && !digests[0].empty()));
  CHECK((probes[0].loss == probes[1].loss && probes[0].examples > 0));
  CHECK((losses[0] == losses[1] && !losses[0].empty()));
  CHECK(same_values(centres[0]->span(), centres[1]->span()));
  CHECK(pairs.are_equal(0));
  pairs.both(0, [&](DeviceTrainer&, OwnModel& m) { m.adopt(*came[0], 7); });
  CHECK(pairs.are_equal(0));
  CHECK(same_values(pairs.trainers[2]->read_weights(), came[1]->span()));
  CHECK(pairs.models[2]->block_displacement() == 0.0);  // adoption forgets the mark
}

TEST_CASE("state of one kind of model is taken up by the other") {
  Pairs pairs({0});
  for (std::size_t from : {0u, 2u}) {
    for (std::size_t to : {0u, 2u}) {
      const auto moves = [&](std::size_t who) { return pairs.models[who]->block_displacement(); };
      pairs.both(0, [](DeviceTrainer&, OwnModel& m) { m.begin_block(); });
      pairs.train(0);
      gossip::Archive kept;
      pairs.models[from]->state(kept);
      const double before = moves(from);
      pairs.both(0, [](DeviceTrainer&, OwnModel& m) { m.begin_block(); });
      REQUIRE(moves(to) == 0.0);
      gossip::Archive loaded(kept.json(), kept.arrays());
      pairs.models[to]->state(loaded);
      CHECK((moves(to) == before && before > 0.0));
    }
  }
}

TEST_CASE("bytes of a snapshot that goes out are read on another thread while training goes on") {
  NnContext context = make_context();
  DevicePool pool({{0}, ""}, context, 1, kBatch, {});
  SnapshotPool snapshots;
  const auto trainer = pool.make_trainer(context, halves(40, 0), options_of(0), 0);
  DeviceModel model(*trainer, snapshots, 0, true, DeviceModel::Snapshots::go_out);
  for (int round = 0; round < 30; ++round) {
    const auto now = trainer->read_weights();
    const std::vector<float> expected(now.begin(), now.end());
    bool is_same = false;
    std::thread reader([&is_same, &expected, sent = model.snapshot()] {
      is_same = same_values(sent->span(), expected);
    });
    for (int i = 0; i < 3; ++i) trainer->train(0);
    model.snapshot();
    reader.join();
    CHECK(is_same);
  }
}

namespace {

struct Ended {
  std::vector<float> weights;
  std::string events;
  int merges = 0;
};

Ended run_pool(Merges where, const std::vector<int>& gpus, const std::string& protocol,
               const std::string& rule) {
  RunConfig config = testkit::vector_config(6, protocol);
  config.batch = kBatch;
  config.epochs = 24;
  config.merge_every = parse_spec("--test", "1");
  config.merge = parse_spec("--test", rule);
  const PoolPlan plan = build_pool_plan(config);
  NnContext context = make_context();
  DevicePool pool({gpus, ""}, context, config.peers, kBatch, {});
  SnapshotPool snapshots;
  std::vector<SimPeer> peers;
  std::vector<DeviceTrainer*> trainers;
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    auto trainer = pool.make_trainer(context, halves(40, i), options_of(i), i);
    SimPeer peer;
    peer.model = make_model(where, *trainer, snapshots, DeviceModel::Snapshots::stay);
    peer.protocol = build_protocol(config, plan, kernels::PeerId(i), trainer->steps_per_epoch());
    trainers.push_back(trainer.get());
    peer.trainer = std::move(trainer);
    peers.push_back(std::move(peer));
  }
  SimOptions options;
  options.network = parse_network(config.net);
  options.compute = parse_compute(config.compute);
  options.epochs = config.epochs;
  options.topology = plan.topology;
  options.has_mass = protocol == "push-sum";
  options.is_one_way = protocol != "pairwise";
  options.steps_between_merges = 4;
  options.stop_deadline = std::chrono::seconds(10);
  DeviceLane lane(1);
  TextSink sink;
  SimHost host(options, peers, lane);
  host.run(sink, {});
  Ended ended{{}, std::move(sink.text), sink.merges};
  for (DeviceTrainer* trainer : trainers) {
    const auto w = trainer->read_weights();
    ended.weights.insert(ended.weights.end(), w.begin(), w.end());
  }
  return ended;
}

}  // namespace

TEST_CASE(
    "a pool that merges on GPUs has the history and the bits of one that merges on the host") {
  const std::vector<int> gpus = places();
  const auto [protocol, rule] =
      GENERATE(table<std::string, std::string>({{"pairwise", "ema:0.5"},
                                                {"pairwise", "ema:0.5+norm-clip"},
                                                {"pairwise", "ema:0.5+gate:kappa=1"},
                                                {"pairwise", "median:b=2,a=0.5"},
                                                {"push", "sample-weighted"},
                                                {"push-sum", "ema:0.5"}}));
  CAPTURE(gpus.size(), protocol, rule);
  const Ended host = run_pool(Merges::on_host, gpus, protocol, rule);
  const Ended gpu = run_pool(Merges::on_gpu, gpus, protocol, rule);
  CHECK(gpu.merges > 20);
  CHECK(same_values(gpu.weights, host.weights));
  CHECK((gpu.events == host.events));  // texts too long to print
}
