// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/assembly.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gossip/baselines/ddp.hpp"
#include "gossip/baselines/diloco.hpp"
#include "gossip/baselines/local.hpp"
#include "gossip/protocols/gossip_peer.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/config/bandwidth.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/config/protocol_kinds.hpp"
#include "runtime/host/build_choco.hpp"
#include "runtime/host/build_communities.hpp"
#include "runtime/host/build_outer.hpp"
#include "runtime/host/build_reduce.hpp"
#include "runtime/host/build_tune.hpp"
#include "runtime/sim/tamper.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;

std::shared_ptr<const gossip::Topology> graph_from_file(const std::string& path,
                                                        std::uint32_t peers) {
  std::ifstream in(std::filesystem::is_regular_file(path) ? path : std::string());
  if (!in)
    throw UsageError("--topology: cannot read " + path + "; expected {\"edges\": [[0, 1], ...]}");
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  try {
    const nlohmann::json edges_json = nlohmann::json::parse(in).at("edges");
    for (const auto& edge : edges_json) {
      const bool is_pair = edge.is_array() && edge.size() == 2 && edge[0].is_number_unsigned() &&
                           edge[1].is_number_unsigned();
      if (!is_pair || edge[0].get<std::uint64_t>() >= peers ||
          edge[1].get<std::uint64_t>() >= peers || edge[0] == edge[1]) {
        throw UsageError("--topology: " + path + ": edge " + edge.dump() +
                         " is no pair of different peers 0 .. " + std::to_string(peers - 1));
      }
      edges.emplace_back(edge[0].get<std::uint32_t>(), edge[1].get<std::uint32_t>());
    }
  } catch (const nlohmann::json::exception&) {
    throw UsageError("--topology: " + path + " is not of the form {\"edges\": [[0, 1], ...]}");
  }
  if (!gossip::is_connected(peers, edges)) {
    throw UsageError("--topology: " + path + " does not connect all " + std::to_string(peers) +
                     " peers");
  }
  return gossip::make_graph(peers, edges);
}

std::shared_ptr<const gossip::Topology> random_regular(const Spec& spec, std::uint32_t peers,
                                                       std::uint64_t seed) {
  reject_unknown("--topology", spec, {"d"}, 1);
  const std::string text = spec.values.empty() ? spec.arg("d").value_or("4") : spec.values.front();
  const auto degree = static_cast<std::uint32_t>(parse_count("--topology", text));
  const bool possible = degree >= 1 && degree < peers && (std::uint64_t{degree} * peers) % 2 == 0 &&
                        (degree >= 2 || peers == 2);
  if (!possible) {
    throw UsageError("--topology: no connected " + std::to_string(degree) + "-regular graph has " +
                     std::to_string(peers) + " peers; d must be 2 .. peers - 1 and d x peers even");
  }
  return gossip::make_graph(
      peers, gossip::random_regular_edges(peers, degree, kernels::Rng::stream(seed, "topology")));
}

gossip::ExchangeKind exchange_kind(const std::string& name) {
  if (name == "pairwise") return gossip::ExchangeKind::pairwise;
  if (name == "choco") return gossip::ExchangeKind::choco;
  return name == "push" ? gossip::ExchangeKind::push : gossip::ExchangeKind::push_sum;
}

// An option that would be read and then ignored is refused, unless it says what it says by default.
void refuse_without_effect(const RunConfig& config, bool given, const char* flag) {
  if (given) {
    throw UsageError(std::string(flag) + ": has no effect on --protocol " + config.protocol.name +
                     "; leave it out");
  }
}

bool differs_from_default(const Spec& spec, const char* option) {
  return spec.text != find_option(option)->default_text;
}

void refuse_codec_where_it_does_not_fit(const RunConfig& config) {
  if (config.codec.text == find_option("codec")->default_text) return;
  const std::string given = "--codec " + config.codec.text;
  const std::string& name = config.protocol.name;
  const bool says_sums = is_synchronous(name);
  if (!says_sums && name != "pairwise" && name != "push" && name != "choco") {
    throw UsageError(given + ": --protocol " + name +
                     " needs whole models; take --codec raw, or --protocol pairwise or push");
  }
  const auto& said = config.codec.modifiers;
  const bool measures = config.codec.name == "auto" ||
                        std::any_of(said.begin(), said.end(),
                                    [](const auto& modifier) { return modifier.name == "auto"; });
  if (measures && name != "pairwise" && !says_sums) {
    throw UsageError(given + ": 'auto' goes by what partners answer, and --protocol " + name +
                     " has no answers; take --protocol pairwise, or a codec without 'auto'");
  }
  for (const std::string& fault : config.chaos) {
    if (!find_attack(parse_spec("--chaos", fault).name)) continue;
    throw UsageError(given + ": --chaos " + fault +
                     " changes weights that are sent as they are; take --codec raw");
  }
}

}  // namespace

std::shared_ptr<const gossip::Topology> build_topology(const Spec& spec, std::uint32_t peers,
                                                       std::uint64_t seed) {
  if (spec.name == "file") {
    if (spec.values.size() != 1)
      throw UsageError("--topology: file needs a path, such as file:graph.json");
    return graph_from_file(spec.values.front(), peers);
  }
  if (spec.name == "regular") return random_regular(spec, peers, seed);
  reject_unknown("--topology", spec, {}, 0);
  if (spec.name == "uniform") return gossip::make_uniform(peers);
  if (spec.name == "ring") return gossip::make_ring(peers);
  if (spec.name == "exp") return gossip::make_exponential(peers);
  throw_unknown("topology", spec.name, {"uniform", "ring", "exp", "regular", "file"});
}

gossip::BlockPlan build_block_plan(const Spec& spec) {
  reject_unknown("--merge-every", spec, {"mode"}, 0);
  gossip::BlockPlan plan;
  plan.lambda = parse_number("--merge-every", spec.name);
  if (!(plan.lambda >= 1e-6 && plan.lambda <= 1e4)) {
    throw UsageError(
        "--merge-every: the mean number of epochs between merges lies between 1e-6 and 1e4, not " +
        spec.name);
  }
  const std::string mode = spec.arg("mode").value_or(plan.lambda >= 1.0 ? "literal" : "steps");
  if (mode == "literal")
    plan.mode = gossip::BlockMode::literal;
  else if (mode == "truncated")
    plan.mode = gossip::BlockMode::truncated;
  else if (mode == "shifted")
    plan.mode = gossip::BlockMode::shifted;
  else if (mode == "steps")
    plan.mode = gossip::BlockMode::steps;
  else
    throw_unknown("mode", mode, {"literal", "truncated", "shifted", "steps"});
  if (plan.lambda < 0.01 && mode == "truncated") {  // one draw in 1 / lambda is not redrawn
    throw UsageError(
        "--merge-every: mode=truncated needs at least 0.01 epochs; use mode=steps below that");
  }
  if (plan.lambda < 1.0 && (mode == "literal" || mode == "shifted")) {
    throw UsageError("--merge-every: mode=" + mode +
                     " needs at least 1 epoch; use mode=steps below that");
  }
  return plan;
}

namespace {

std::size_t layer_size(const std::string& text) {
  const std::uint64_t units = parse_count("--model", text);
  if (units < 1 || units > 65'536)
    throw UsageError("--model: a layer has 1 to 65536 units, not " + text);
  return units;
}

// cnn:16,32,dense=128
kernels::Network build_cnn(const Spec& spec, const ImageSet& images) {
  reject_unknown("--model", spec, {"dense"}, 4);
  std::vector<std::size_t> channels, hidden;
  for (const std::string& text : spec.values) channels.push_back(layer_size(text));
  if (channels.empty()) channels = {16, 32};
  if (const auto dense = spec.arg("dense")) {
    if (*dense != "0") hidden.push_back(layer_size(*dense));
  } else {
    hidden.push_back(128);
  }
  return kernels::Network::cnn(images.rows, images.cols, channels, hidden, images.classes);
}

}  // namespace

kernels::Network build_model(const Spec& spec, const ImageSet& images) {
  if (spec.name == "cnn") return build_cnn(spec, images);
  if (spec.name != "mlp") throw_unknown("model", spec.name, {"mlp", "cnn"});
  reject_unknown("--model", spec, {}, 16);
  std::vector<std::size_t> widths = {images.image_bytes()};
  for (const std::string& text : spec.values) widths.push_back(layer_size(text));
  widths.push_back(images.classes);
  return kernels::Network::mlp(widths);
}

std::unique_ptr<NnContext> build_context(const Spec& model, const ImageSet& train,
                                         std::size_t workers, std::size_t max_batch) {
  kernels::Network network = build_model(model, train);
  Standardisation input = standardise(train, network);
  return std::make_unique<NnContext>(std::move(network), std::move(input), workers, max_batch);
}

ScheduleKind build_schedule(const Spec& spec) {
  reject_unknown("--schedule", spec, {}, 0);
  if (spec.name == "constant") return ScheduleKind::constant;
  if (spec.name == "cosine") return ScheduleKind::cosine;
  throw_unknown("schedule", spec.name, {"constant", "cosine"});
}

std::uint32_t end_game_rounds(const Spec& spec) {
  // `off`, or `rounds=R`, which the grammar reads as the name `rounds` with the value R.
  if (spec.name == "off") return 0;
  std::optional<std::string> rounds;
  if (spec.name == "rounds" && spec.values.size() == 1 && spec.args.empty())
    rounds = spec.values.front();
  if (!rounds) throw UsageError("--end-game: expected off or rounds=R, not " + spec.text);
  const std::uint64_t count = parse_count("--end-game", *rounds);
  if (count < 1 || count > 1000) throw UsageError("--end-game: 1 to 1000 rounds, not " + *rounds);
  return static_cast<std::uint32_t>(count);
}

// Different neighbours of the peer that has fewest. Topologies that rotate have been round by then.
std::uint32_t fewest_neighbours(const gossip::Topology& topology, std::uint32_t peers) {
  constexpr std::uint64_t kRounds = 64;
  std::uint32_t fewest = peers;
  for (std::uint32_t self = 0; self < peers; ++self) {
    const std::uint32_t degree = topology.degree(kernels::PeerId(self), 0);
    std::set<std::uint32_t> met;
    for (std::uint64_t round = 0; degree == 1 && round < kRounds; ++round)
      met.insert(topology.neighbour(kernels::PeerId(self), round, 0).value);
    fewest = std::min(fewest, degree == 1 ? static_cast<std::uint32_t>(met.size()) : degree);
  }
  return fewest;
}

// off | models:10%,horizon=16
std::optional<gossip::TradePlan> build_trade(const RunConfig& config, const merge::Policy& policy) {
  const Spec& spec = config.trade;
  if (!spec.modifiers.empty()) throw UsageError("--trade " + spec.text + ": no '+' modifiers here");
  if (spec.name == "off") {
    reject_unknown("--trade", spec, {}, 0);
    return std::nullopt;
  }
  if (spec.name != "models") throw_unknown("trade", spec.name, {"off", "models"});
  reject_unknown("--trade", spec, {"horizon"}, 1);
  gossip::TradePlan plan;
  plan.horizon = config.peers;
  if (!spec.values.empty()) plan.chance = parse_share("--trade", spec.values.front());
  if (const auto horizon = spec.arg("horizon")) plan.horizon = parse_number("--trade", *horizon);
  if (!(plan.horizon >= 1.0 && plan.horizon <= 1e6))
    throw UsageError("--trade horizon: 1 to 1,000,000 merges, not " + *spec.arg("horizon"));
  if (config.protocol.name != "pairwise")
    throw UsageError("--trade " + spec.text +
                     ": of --protocol pairwise alone, where both sides move");
  if (config.outer.name != "none") {
    throw UsageError("--trade " + spec.text + ": does not go with --outer " + config.outer.text +
                     ", whose slow weights would stay behind");
  }
  if (part_of(config.codec, "density") != nullptr) {
    throw UsageError("--trade " + spec.text + ": does not go with --codec " + config.codec.text +
                     ", which takes back a merge after which the loss jumps; leave out +density");
  }
  if (!policy.symmetric()) {
    throw UsageError("--trade " + spec.text + ": with --merge " + config.merge.text +
                     " each side decides for itself, and a model could get lost; take ema");
  }
  return plan;
}

PoolPlan build_pool_plan(const RunConfig& config) {
  PoolPlan plan;
  const std::string& name = config.protocol.name;
  const bool baseline = is_baseline(name);
  if (!baseline && name != "pairwise" && name != "push" && name != "push-sum" && name != "choco") {
    throw_unknown("protocol", name,
                  {"pairwise", "push", "push-sum", "choco", "local", "ddp", "diloco"});
  }
  plan.topology = build_topology(config.topology, config.peers, config.seed);
  plan.outer = outer_settings(config.outer);
  if (name == "diloco") {
    plan.outer = diloco_settings(config.protocol);
    refuse_without_effect(config, config.merge_every.arg("mode").has_value(), "--merge-every mode");
  } else if (name == "choco") {
    plan.choco_gamma = choco_gamma(config, *plan.topology);
  } else {
    reject_unknown(
        "--protocol", config.protocol,
        name == "ddp" ? std::vector<std::string>{"feedback"} : std::vector<std::string>{}, 0);
  }
  plan.policy = build_policy(config.merge, fewest_neighbours(*plan.topology, config.peers));
  plan.blocks = build_block_plan(config.merge_every);
  plan.end_game = end_game_rounds(config.end_game);
  plan.gossips = !baseline;
  plan.equal_steps = is_synchronous(name);
  plan.tune = build_tune(config);
  plan.needs_probe =
      !baseline &&
      (plan.tune || config.until_converged || plan.policy->needs_confidence() ||
       plan.policy->guards().gate_kappa || part_of(config.codec, "density") != nullptr);
  if (parse_bandwidth("--bandwidth", config.bandwidth)) {
    refuse_without_effect(config, baseline, "--bandwidth");
    if (config.wait)
      throw UsageError(
          "--bandwidth: merges wait for it, and with --wait training would wait too; "
          "take one of them");
  }
  const bool is_choco = name == "choco";  // its copies decide, and nobody answers
  if (baseline || is_choco) {
    refuse_without_effect(config, config.wait, "--wait");
    refuse_without_effect(config, plan.end_game > 0, "--end-game");
  }
  if (baseline) {
    refuse_without_effect(config, config.until_converged, "--until-converged");
    refuse_without_effect(config, differs_from_default(config.topology, "topology"), "--topology");
    if (name != "diloco")
      refuse_without_effect(config, differs_from_default(config.merge_every, "merge-every"),
                            "--merge-every");
  }
  if (baseline || is_choco || name == "push-sum") {  // push-sum's masses decide
    refuse_without_effect(config, differs_from_default(config.merge, "merge"), "--merge");
  }
  refuse_outer_where_it_does_not_fit(config, *plan.policy);
  if (plan.equal_steps) refuse_reduction_where_it_does_not_fit(config);
  refuse_codec_where_it_does_not_fit(config);
  plan.communities = build_communities(config);
  if (plan.policy->needs_likeness() && !(plan.communities && plan.communities->finds())) {
    throw UsageError("--merge " + config.merge.text +
                     ": how alike two peers are is told by sketches; add --cluster agglo");
  }
  plan.examples = build_examples(config);
  plan.trade = build_trade(config, *plan.policy);
  return plan;
}

namespace {

std::shared_ptr<const gossip::TransferPlan> transfers_of(const PoolPlan& plan) {
  if (!plan.examples || !plan.examples->passing) return nullptr;
  const PassingPlan& passing = *plan.examples->passing;
  return std::make_shared<const gossip::TransferPlan>(
      gossip::TransferPlan{passing.most, passing.copies, name_of(passing.by), plan.examples->logs});
}

}  // namespace

std::unique_ptr<gossip::Protocol> build_protocol(const RunConfig& config, const PoolPlan& plan,
                                                 kernels::PeerId self,
                                                 std::uint64_t steps_per_epoch,
                                                 const PeerPlace& place) {
  const std::string& name = config.protocol.name;
  const auto incarnation = static_cast<std::uint32_t>(place.incarnation);
  if (name == "local") {
    return std::make_unique<gossip::Local>(
        gossip::LocalSettings{self, steps_per_epoch, config.epochs, incarnation});
  }
  if (name == "ddp") {
    return std::make_unique<gossip::Ddp>(gossip::DdpSettings{self, config.peers, steps_per_epoch,
                                                             config.epochs, incarnation,
                                                             reduce_settings(config, plan.codec)});
  }
  if (name == "diloco") {
    const double steps = plan.blocks.lambda * static_cast<double>(steps_per_epoch);
    return std::make_unique<gossip::Diloco>(
        gossip::DilocoSettings{self, config.peers, steps_per_epoch, config.epochs,
                               static_cast<std::uint64_t>(std::max(1ll, std::llround(steps))),
                               *plan.outer, incarnation, reduce_settings(config, plan.codec)});
  }
  gossip::GossipSettings settings;
  settings.self = self;
  settings.peers = config.peers;
  settings.seed = config.seed;
  settings.batch = config.batch;
  settings.blocks = plan.blocks;
  settings.blocks.steps_per_epoch = steps_per_epoch;
  settings.blocks.epochs = config.epochs;
  settings.exchange = exchange_kind(name);
  settings.wait = config.wait;
  settings.until_converged = config.until_converged;
  settings.end_game_rounds = plan.end_game;
  settings.incarnation = incarnation;
  settings.late = place.late;
  settings.at_start = place.at_start;
  settings.topology = plan.topology;
  settings.policy = plan.policy;
  settings.codec = plan.codec;
  settings.communities = plan.communities;
  settings.outer = plan.outer;
  settings.choco_gamma = plan.choco_gamma;
  settings.transfers = transfers_of(plan);
  settings.trade = plan.trade;
  settings.tune = plan.tune;
  settings.bandwidth_bytes_per_s = parse_bandwidth("--bandwidth", config.bandwidth);
  return std::make_unique<gossip::GossipPeer>(settings);
}

}  // namespace hearsay::runtime
