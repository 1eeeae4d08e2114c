// SPDX-License-Identifier: Apache-2.0
// Run directories of live pools made by hand: models of a small network on generated digits.
#include "runtime/launch/collect.hpp"

#include <csignal>
#include <filesystem>

#include "gossip/event.hpp"
#include "kernels/core/digest.hpp"
#include "kernels/core/rng.hpp"
#include "kernels/ops/merge_ops.hpp"
#include "runtime/checkpoint/checkpoint_store.hpp"
#include "runtime/data/partition.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/peer_files.hpp"
#include "runtime/log/safetensors.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay;
using namespace hearsay::runtime;
namespace fs = std::filesystem;

namespace {

Spec spec(const char* text) { return parse_spec("--test", text); }

RunConfig small_config() {
  RunConfig c;
  c.peers = 4;
  c.data = "synthetic:digits";
  c.split = "iid+rotate:groups=2,by=5";
  c.model = spec("mlp:8");
  c.merge_every = spec("1");
  c.protocol = spec("pairwise");
  c.topology = spec("uniform");
  c.merge = spec("ema:0.5");
  c.end_game = spec("off");
  c.seed = 3;
  return c;
}

const Dataset& digits() {
  static const Dataset data = load_dataset("synthetic:digits", 3);
  return data;
}

void serial(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body) {
  for (std::size_t i = 0; i < count; ++i) body(i, 0);
}

void write_model(const RunDir& run, const PeerResult& result, const kernels::Layout& layout,
                 const PeerWeights& weights) {
  Checkpoint made;
  made.tensors = peer_model_parts(run, result, "1.2.3", layout, weights);
  CheckpointStore(run.peer_checkpoints(result.name)).write(result.counters.steps, made);
}

// A pool whose peers have run and left their files.
struct Ran {
  explicit Ran(const RunConfig& c) : config(c), run(RunDir::create(dir.file("pool"))) {
    const kernels::Network model = build_model(config.model, digits().test);
    layout = model.layout();
    for (std::uint32_t i = 0; i < config.peers; ++i) {
      auto rng = kernels::Rng::stream(1, "test", i);
      models.emplace_back(layout.size());
      model.initialise(rng, models.back());
      PeerResult result;
      result.name = gossip::peer_name(kernels::PeerId(i));
      result.alive = true;
      result.reason = "finished";
      result.counters.steps = 100 + i;
      result.counters.samples = 3000;
      result.counters.merges_applied = i;
      result.payload_bytes = 1000;
      results.push_back(result);
      write(i);
    }
  }
  void write(std::uint32_t i) {
    write_model(run, results[i], layout, {models[i], {}});
    write_peer_result(run, results[i]);
  }
  // Of `weights` with labels as peer i sees them, by other means than collect's.
  double accuracy(std::uint32_t i, std::span<const float> weights) const {
    const Partition partition =
        make_partition(config.split, digits().train.labels, 10, config.peers, config.seed);
    const auto made = build_context(config.model, digits().train, 1, kEvaluationChunk);
    NnContext& context = *made;
    const auto label = [&](std::uint8_t l) { return rotated_label(partition, i, l, 10); };
    return evaluate(context, digits().test, weights, 0, label, serial).accuracy;
  }

  TempDir dir;
  RunConfig config;
  RunDir run;
  kernels::Layout layout;
  std::vector<std::vector<float>> models;
  std::vector<PeerResult> results;
};

}  // namespace

TEST_CASE("a result that stayed on another host is named with it", "[launch]") {
  const Ran ran(small_config());
  for (const char* peer : {"p01", "p02"}) std::filesystem::remove_all(ran.run.peer_dir(peer));
  PoolEnding ending;
  for (const char* peer : {"p01", "p02"}) {
    PeerEnding each;
    each.name = peer;
    each.host = "beta.example";
    if (std::string(peer) == "p02") each.how = "killed by SIGKILL";
    ending.peers.push_back(each);
  }
  const PoolResult result = collect_pool(ran.run, ran.config, ending);
  CHECK(result.lost == 2);
  CHECK(result.peers[1].reason ==
        "left its result on beta.example, which does not share " + ran.run.path());
  CHECK(result.peers[2].reason == "killed by SIGKILL");
}

TEST_CASE("a pool's result comes out of its peers' files", "[launch]") {
  const Ran ran(small_config());
  const PoolResult result = collect_pool(ran.run, ran.config, {.wall_s = 12.5});
  CHECK(result.verdict == "ok");
  CHECK(result.exit_code == 0);
  CHECK(result.wall_s == 12.5);
  CHECK_FALSE(result.virtual_s);
  CHECK(result.lost == 0);
  REQUIRE(result.peers.size() == 4);
  kernels::DigestBuilder digest;
  double sum = 0.0, distance = 0.0;
  const std::vector<float> mean =
      mean_weights({ran.models[0], ran.models[1], ran.models[2], ran.models[3]});
  for (std::uint32_t i = 0; i < 4; ++i) {
    digest.add(ran.models[i]);
    CHECK(result.peers[i].test.accuracy == ran.accuracy(i, ran.models[i]));
    CHECK(result.peers[i].shard == 1500);
    sum += result.peers[i].test.accuracy;
    distance += kernels::squared_distance(ran.models[i], mean);
  }
  CHECK(result.digest == digest.finish());
  CHECK(result.test_acc_mean == Approx(sum / 4));
  CHECK(result.consensus_distance == Approx(distance / 4));
  CHECK(result.test_acc_averaged_model ==  // p00, p01 and p02, p03 see rotated labels
        Approx((ran.accuracy(0, mean) + ran.accuracy(2, mean)) / 2));
}

TEST_CASE("what a peer evaluated and measured itself is taken over", "[launch]") {
  Ran ran(small_config());
  ran.results[2].test = {0.125, 0.875, 1000};
  ran.results[2].wall_s = 10.0;
  ran.results[2].train_s = 8.0;
  ran.write(2);
  const PoolResult result = collect_pool(ran.run, ran.config, {});
  CHECK(result.test_acc_max == 0.875);
  CHECK(*result.training_share == Approx(0.8));
}

TEST_CASE("killed, missing and damaged peers are lost with their reasons, the rest count",
          "[launch]") {
  Ran ran(small_config());
  fs::remove_all(ran.run.peer_dir("p00"));
  write_text(ran.run.peer_result("p01"), "{\"peer\": \"p01\"");
  PoolEnding ending;
  PeerStatus last;
  last.samples = 77;
  last.wire_bytes = 4321;
  ending.peers = {{"p00", "killed by SIGKILL", last}, {"p02", "exit code 1", {}}};
  const PoolResult result = collect_pool(ran.run, ran.config, ending);
  CHECK(result.lost == 3);
  CHECK(result.peers[0].name == "p00");
  CHECK(result.peers[0].reason == "killed by SIGKILL");
  CHECK(result.peers[0].counters.samples == 77);
  CHECK(result.peers[0].wire_bytes == 4321);
  CHECK(result.peers[0].shard == 1500);
  CHECK(result.peers[1].reason.find(ran.run.peer_result("p01") + ": offset ") == 0);
  CHECK(result.peers[2].reason == "exit code 1");  // although its files are whole
  CHECK(result.peers[2].counters.samples == 3000);
  CHECK(result.peers[3].alive);
  CHECK(result.digest == kernels::digest(ran.models[3]));
  CHECK(result.consensus_distance == 0.0);
  CHECK(result.verdict == "ok");
  ran.config.min_peers = 2;
  CHECK(collect_pool(ran.run, ran.config, ending).exit_code == 3);
}

TEST_CASE("a result without its model does not count", "[launch]") {
  Ran ran(small_config());
  fs::remove_all(ran.run.peer_checkpoints("p00"));
  ran.results[1].counters.steps = 999;  // newer than the model
  write_peer_result(ran.run, ran.results[1]);
  kernels::Layout other;
  other.add("0.weight", {3});
  write_model(ran.run, ran.results[2], other, {std::vector<float>(3), {}});
  const PoolResult result = collect_pool(ran.run, ran.config, {});
  CHECK(result.lost == 3);
  CHECK(result.peers[0].reason.find("no model") != std::string::npos);
  CHECK(result.peers[1].reason.find("of step 101, the result of step 999") != std::string::npos);
  CHECK(result.peers[2].reason.find("not as --model says") != std::string::npos);
}

TEST_CASE("a peer that gave up keeps its own reason, whatever its process did", "[launch]") {
  Ran ran(small_config());
  ran.results[0].alive = false;
  ran.results[0].reason = "diverged";
  write_peer_result(ran.run, ran.results[0]);
  ran.config.min_peers = 4;
  const PoolResult result =
      collect_pool(ran.run, ran.config, {.peers = {{"p00", "exit code 3", {}}}});
  CHECK(result.peers[0].reason == "diverged");
  CHECK(result.verdict == "lost quorum");
  CHECK(result.reason.find("1 diverged") != std::string::npos);
}

TEST_CASE("what the launcher saw decides the verdict", "[launch]") {
  Ran ran(small_config());
  CHECK(collect_pool(ran.run, ran.config, {.signal = SIGTERM}).exit_code == 143);
  CHECK(collect_pool(ran.run, ran.config, {.faults_never_fired = {"kill=p01@90%"}}).verdict ==
        "fault never fired");
  ran.config.target = Target{"test_acc", 0.5};
  CHECK(collect_pool(ran.run, ran.config, {.target_best = 0.4}).verdict == "target missed");
  const PoolResult reached = collect_pool(ran.run, ran.config, {.target_reached_s = 3.5});
  CHECK(reached.verdict == "ok");
  CHECK(reached.reason == "target reached");
  CHECK(*reached.target_reached_s == 3.5);
}

TEST_CASE("an end game's models are tested apart from the ones that count", "[launch]") {
  RunConfig config = small_config();
  config.end_game = spec("rounds=2");
  Ran ran(config);
  const std::vector<float> before = ran.models[1];
  write_model(ran.run, ran.results[1], ran.layout, {ran.models[0], before});
  const PoolResult result = collect_pool(ran.run, ran.config, {});
  CHECK(result.peers[1].test.accuracy == ran.accuracy(1, before));
  REQUIRE(result.peers[1].test_final);
  CHECK(result.peers[1].test_final->accuracy == ran.accuracy(1, ran.models[0]));
  CHECK(result.peers[0].test_final->accuracy == result.peers[0].test.accuracy);
  CHECK(result.test_acc_final_mean);
}

TEST_CASE("the exported model takes byte / 255 and does as well as the averaged one", "[launch]") {
  RunConfig config = small_config();
  config.split = "iid";
  const Ran ran(config);
  ExportedModel exported;
  const PoolResult result =
      collect_pool(ran.run, ran.config, {.peers = {{"p03", "killed by SIGKILL", {}}}}, &exported);
  CHECK(exported.rule == "uniform mean of the live peers");
  export_pool_model(ran.run, exported, result, "1.2.3");
  const TensorFile file = read_safetensors(ran.run.exported_model());
  CHECK(file.layout.first_difference(ran.layout).empty());
  CHECK(file.metadata.at("hearsay.parents") == "p00:0,p01:1,p02:2");
  CHECK(file.metadata.at("hearsay.samples") == "9000");
  CHECK(file.metadata.at("hearsay.run") == "pool");
  const std::size_t pixels = digits().test.image_bytes();
  const Standardisation plain{std::vector<float>(pixels, 1.0f / 255.0f),
                              std::vector<float>(pixels, 0.0f)};
  NnContext context(build_model(config.model, digits().test), plain, 1, 256);
  const double folded =
      evaluate(
          context, digits().test, file.values.span(), 0, [](std::uint8_t l) { return l; }, serial)
          .accuracy;
  CHECK(folded == Approx(result.test_acc_averaged_model).margin(0.003));
  const std::string text = read_text(ran.dir.file("pool/export/model.json"));
  CHECK(text.find(kernels::digest(file.values.span()).hex()) != std::string::npos);
}

TEST_CASE("without a live peer there is nothing to export", "[launch]") {
  RunConfig config = small_config();
  TempDir dir;
  const RunDir run = RunDir::create(dir.file("pool"));
  ExportedModel exported;
  const PoolResult result = collect_pool(run, config, {}, &exported);
  CHECK(result.lost == 4);
  CHECK(result.peers[2].reason == "left no result");
  CHECK(result.verdict == "lost quorum");
  CHECK(exported.weights.empty());
  export_pool_model(run, exported, result, "1.2.3");
  CHECK_FALSE(fs::exists(run.exported_model()));
}
