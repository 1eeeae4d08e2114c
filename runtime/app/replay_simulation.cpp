// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/replay_simulation.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>

#include <stdlib.h>

#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
#include "kernels/ops/gemm.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/sim_record.hpp"
#include "runtime/app/styled_line.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/safetensors.hpp"
#include "runtime/replay/log_comparison.hpp"
#include "runtime/sim/simulation.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using kernels::UsageError;

// A log of its own, in a folder that goes away with it.
class ScratchLog final : public EventSink {
 public:
  ScratchLog() {
    std::string pattern = (fs::temp_directory_path() / "hearsay-replay-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw UsageError("replay: no folder can be made in " + fs::temp_directory_path().string());
    folder_ = pattern;
    writer_ = std::make_unique<EventWriter>(folder_);
    writer_->write_header(gossip::Event("run.started"));
  }
  ~ScratchLog() override {
    writer_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void write(gossip::Time t, std::string_view peer, const gossip::Event& event) override {
    writer_->write(t, peer, event);
  }
  template <typename Visit>
  void for_each_line(Visit visit) {
    writer_->close();
    std::ifstream file(writer_->path(), std::ios::binary);
    std::string line;
    std::getline(file, line);  // the header
    while (std::getline(file, line)) visit(line);
  }

 private:
  std::string folder_;
  std::unique_ptr<EventWriter> writer_;
};

struct Again {
  PoolResult result;
  std::vector<float> until_weights;  // of --until, at the first instant after that merge
  std::uint64_t until_merges = 0;
};

Again run_again(Simulation& simulation, const ReplayPlan& plan, EventSink& sink) {
  Again again;
  SimHooks hooks;
  if (plan.until) {
    hooks.interrupted = [&] {
      const std::uint64_t merges = simulation.merges_applied(plan.until->peer);
      if (merges < plan.until->mseq || !again.until_weights.empty())
        return !again.until_weights.empty();
      const auto weights = simulation.weights(plan.until->peer);
      again.until_weights.assign(weights.begin(), weights.end());
      again.until_merges = merges;
      return true;
    };
  }
  again.result = simulation.run(sink, std::move(hooks));
  return again;
}

std::optional<Json> recorded_result(const RunDir& run) {
  std::ifstream file(run.result_json());
  const Json json = Json::parse(file, nullptr, false);
  return json.is_object() ? std::optional(json) : std::nullopt;
}

std::string text_in(const std::optional<Json>& json, const char* key) {
  if (!json || !json->contains(key) || !(*json)[key].is_string()) return {};
  return (*json)[key].get<std::string>();
}

std::string percent(const std::optional<Json>& result, const char* key) {
  if (!result || !result->contains(key) || !(*result)[key].is_number()) return "-";
  char text[16];
  std::snprintf(text, sizeof text, "%.2f %%", 100.0 * (*result)[key].get<double>());
  return text;
}

Json summary(const PoolResult& result) {
  std::uint64_t merges = 0;
  for (const PeerResult& peer : result.peers) merges += peer.counters.merges_applied;
  return {{"test_acc_mean", result.test_acc_mean},
          {"test_acc_min", result.test_acc_min},
          {"merges_applied", merges},
          {"digest", result.digest.hex()}};
}

int print_both(const std::optional<Json>& before, const PoolResult& now, const RunConfig& config,
               bool swaps_codec, bool json) {
  const std::optional<Json> after = summary(now);
  if (json) {
    std::cout << Json{{"merge", config.merge.text},
                      {"codec", config.codec.text},
                      {"checked", false},
                      {"recorded", before.value_or(Json())},
                      {"now", *after}}
                     .dump(2)
              << "\n";
    return 0;
  }
  const auto count = [](const std::optional<Json>& j) {
    const bool known = j && j->contains("merges_applied");
    return known ? (*j)["merges_applied"].dump() : std::string("-");
  };
  char line[160];
  std::cout << "            recorded    "
            << (swaps_codec ? "codec=" + config.codec.text : "merge=" + config.merge.text) << "\n";
  for (const auto& [title, key] :
       {std::pair{"acc mean", "test_acc_mean"}, {"acc min", "test_acc_min"}}) {
    std::snprintf(line, sizeof line, "%-10s  %-10s  %s\n", title, percent(before, key).c_str(),
                  percent(after, key).c_str());
    std::cout << line;
  }
  std::snprintf(line, sizeof line, "%-10s  %-10s  %s\n", "merges", count(before).c_str(),
                count(after).c_str());
  std::cout << line;
  return 0;
}

struct Verdict {
  LogComparison log;
  std::string digest_then, digest_now;
  bool was_cut_off = false;  // the recorded run: what came after its stop does not count
  double wall_s = 0.0;
  std::uint64_t merges = 0;

  bool same_digest() const { return was_cut_off || digest_then == digest_now; }
  bool equal() const { return log.differences().empty() && same_digest(); }
};

// A run that was told to stop left a checkpoint from just before: so far its log is that of the
// seed. One that was killed has logged a beginning.
Verdict verdict_on(const RunDir& run, const std::optional<Json>& before, std::string digest_now,
                   ScratchLog& scratch) {
  const bool was_told = text_in(before, "verdict") == "interrupted";
  const std::size_t bytes = was_told ? log_position(newest_checkpoint(run)).bytes
                                     : std::numeric_limits<std::size_t>::max();
  Verdict verdict{LogComparison(run.events_jsonl(), bytes), text_in(before, "digest"),
                  std::move(digest_now), was_told || !before};
  scratch.for_each_line([&](const std::string& line) { verdict.log.compare(line); });
  verdict.log.finish();
  return verdict;
}

int print_verdict(const Verdict& v, bool json) {
  if (json) {
    Json j{{"equal", v.equal()}, {"events_equal", v.log.equal()}, {"merges", v.merges}};
    j["digest"] = v.digest_now;
    j["recorded_digest"] = v.digest_then;
    j["cut_off"] = v.was_cut_off;
    j["lines_missing"] = v.log.missing();
    j["wall_s"] = v.wall_s;
    j["differences"] = v.log.differences();
    j["damage"] = v.log.damage();
    std::cout << j.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  } else {
    for (const std::string& line : v.log.damage())
      std::cout << "damaged    " << printable(line) << "\n";
    for (const std::string& line : v.log.differences())
      std::cout << "differs    " << printable(line) << "\n";
    char took[32];
    std::snprintf(took, sizeof took, "%.1f s", v.wall_s);
    std::cout << v.merges << " merges simulated again in " << took << ", " << v.log.equal()
              << " logged events equal";
    if (v.log.missing() > 0) std::cout << ", " << v.log.missing() << " are not in the log";
    std::cout << "; digest " << v.digest_now << ", "
              << (v.was_cut_off     ? "of the whole run; the one recorded was cut off"
                  : v.same_digest() ? "the same"
                                    : "recorded " + v.digest_then)
              << "\n";
  }
  if (!v.equal()) return static_cast<int>(kernels::ExitCode::check_failed);
  return static_cast<int>(v.log.damage().empty() ? kernels::ExitCode::ok
                                                 : kernels::ExitCode::damaged);
}

}  // namespace

int replay_simulation(const RunDir& run, const RunRecord& record, RunConfig config,
                      const ReplayPlan& plan, std::size_t threads, const Arguments& arguments) {
  if (plan.dropped)
    throw UsageError("--drop-peer: of a simulation, cut the peer off: hearsay sim --config " +
                     run.run_json() + " --chaos partition=p00@0%");
  if (plan.data_seed)
    throw UsageError("--seed-data: only for runs of processes; hearsay sim --seed deals data anew");
  const bool json = wants_json(arguments);
  if (plan.merge) config.merge = *plan.merge;
  if (plan.codec) config.codec = *plan.codec;
  config.threads = static_cast<std::uint32_t>(threads);
  const auto begin = std::chrono::steady_clock::now();
  Dataset dataset = load_dataset(config.data, config.seed);
  Simulation simulation(config, std::move(dataset));
  if (record.data_digest && *record.data_digest != simulation.data_digest())
    throw UsageError("replay: the data are not those of the run (digest " +
                     simulation.data_digest() + ", then " + *record.data_digest + ")");
  ScratchLog scratch;
  const Again again = run_again(simulation, plan, scratch);
  const std::optional<Json> before = recorded_result(run);
  if (plan.until) {
    const std::string peer = gossip::peer_name(kernels::PeerId(plan.until->peer));
    if (again.until_weights.empty())
      throw UsageError("--until: " + peer + " has " +
                       std::to_string(simulation.merges_applied(plan.until->peer)) +
                       " merges in the whole run");
    const std::string out =
        arguments.value("model-out").value_or(*arguments.value("until") + ".safetensors");
    write_safetensors(out, simulation.layout(), again.until_weights,
                      {{"peer", peer}, {"merges", std::to_string(again.until_merges)}});
    if (!json && !arguments.is_on("quiet"))
      std::cerr << "model of " << peer << " after its merge " << again.until_merges
                << " written to " << out << "\n";
    return 0;
  }
  if (!plan.checks) return print_both(before, again.result, config, plan.codec.has_value(), json);
  Verdict verdict = verdict_on(run, before, again.result.digest.hex(), scratch);
  for (const PeerResult& peer : again.result.peers) verdict.merges += peer.counters.merges_applied;
  verdict.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return print_verdict(verdict, json);
}

}  // namespace hearsay::runtime
