// SPDX-License-Identifier: Apache-2.0
// hearsay bench: train (samples per second, share of sgemm) and mix (contraction against theory).
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <thread>

#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
#include "kernels/ops/gemm.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/machine.hpp"
#include "runtime/app/version.hpp"
#include "runtime/bench/bench_mix.hpp"
#include "runtime/bench/bench_train.hpp"
#include "runtime/config/config.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kContractionTolerance = 0.03;
constexpr double kMassTolerance = 1e-6;

template <typename... Values>
void print(const char* pattern, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  std::cout << text;
}

Json header_json(const char* bench) {
  Json j;
  j["bench"] = bench;
  j["version"] = version_number();
  j["git"] = git_commit();
  j["build"] = build_text();
  j["cpu"] = cpu_facts().model;
  j["blas"] = kernels::blas_description();
  return j;
}

void print_header(const Json& header, const std::string& method) {
  std::cout << "# hearsay bench " << header["bench"].get<std::string>() << "  git "
            << header["git"].get<std::string>() << "  cpu " << header["cpu"].get<std::string>()
            << "  " << header["blas"].get<std::string>() << "\n# " << method << "\n";
}

CommandSyntax bench_syntax(const char* name, const char* summary) {
  CommandSyntax syntax;
  syntax.name = name;
  syntax.summary = summary;
  syntax.options = {"json"};
  return syntax;
}

int train(const std::vector<std::string>& args) {
  CommandSyntax syntax =
      bench_syntax("bench train", "training steps beside sgemm alone on the same shapes");
  syntax.options = {"model", "json"};
  Option require;
  require.name = "require";
  require.placeholder = "SHARE";
  require.help = "exit 1 when the share of sgemm's rate at batch 64 is below this";
  require.group = "bench";
  syntax.own = {require};
  syntax.examples = {"hearsay bench train --require 60%"};
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const RunConfig config = typed_config(merge_settings(arguments, process_environment()));
  const auto least = arguments.value("require");
  const double least_share = least ? parse_share("--require", *least) : 0.0;
  const std::vector<TrainBenchRow> rows = bench_train(config.model, {32, 64});
  Json json{{"header", header_json("train")}, {"rows", Json::array()}};
  for (const TrainBenchRow& row : rows) {
    json["rows"].push_back({{"op", "train"},
                            {"batch", row.batch},
                            {"p50_us", row.step_p50_s * 1e6},
                            {"p99_us", row.step_p99_s * 1e6},
                            {"samples_per_s", row.samples_per_s()},
                            {"gflop_per_s", row.flops / row.step_p50_s * 1e-9},
                            {"sgemm_gflop_per_s", row.flops / row.gemm_p50_s * 1e-9},
                            {"share_of_sgemm", row.share()}});
  }
  if (config.json) {
    std::cout << json.dump(2) << "\n";
  } else {
    print_header(
        json["header"],
        config.model.text + ", 784 inputs, 1 thread, SGD momentum, clip 1; 60 rounds of 20 steps");
    print("#  op     batch   p50_us   p99_us   samples/s  GFlop/s  sgemm_GFlop/s  share_%%\n");
    for (const TrainBenchRow& row : rows) {
      print("   train  %5u  %7.1f  %7.1f  %10.0f  %7.1f  %13.1f  %7.1f\n", row.batch,
            row.step_p50_s * 1e6, row.step_p99_s * 1e6, row.samples_per_s(),
            row.flops / row.step_p50_s * 1e-9, row.flops / row.gemm_p50_s * 1e-9,
            100.0 * row.share());
    }
  }
  return rows.back().share() >= least_share ? 0 : 1;
}

int mix(const std::vector<std::string>& args) {
  CommandSyntax syntax = bench_syntax(
      "bench mix", "contraction per merge and push-sum's invariants, without learning");
  syntax.options = {"seed", "json"};
  syntax.examples = {"hearsay bench mix"};
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const RunConfig config = typed_config(merge_settings(arguments, process_environment()));
  Json json{{"header", header_json("mix")}, {"rows", Json::array()}};
  if (!config.json) {
    print_header(json["header"],
                 "vectors of 200 values, learning off, through the protocol objects and host of "
                 "`hearsay sim`");
    print("#  protocol   peers  alpha  merges  removed_a_merge  theory    error_%%  wrong\n");
  }
  bool right = true;
  for (const char* protocol : {"push", "pairwise"}) {
    for (const std::uint32_t peers : {4u, 16u, 64u}) {
      for (const double alpha : {0.5, 0.25}) {
        const std::uint64_t merges = peers == 64 ? 12'000 : 20'000;
        const MixRow row = bench_contraction(protocol, peers, alpha, merges, config.seed + 1);
        const bool wrong = std::fabs(row.error()) > kContractionTolerance;
        right = right && !wrong;
        json["rows"].push_back({{"op", "contraction"},
                                {"protocol", protocol},
                                {"peers", peers},
                                {"alpha", alpha},
                                {"merges", row.merges},
                                {"measured", row.measured},
                                {"theory", row.expected},
                                {"error", row.error()},
                                {"wrong", wrong ? 1 : 0}});
        if (config.json) continue;
        print("   %-9s  %5u  %5.2f  %6llu  %15.6f  %8.6f  %7.2f  %5d\n", protocol, peers, alpha,
              static_cast<unsigned long long>(row.merges), row.measured, row.expected,
              100.0 * row.error(), wrong);
        std::cout.flush();
      }
    }
  }
  if (!config.json) print("#  protocol   peers  merges  mass_error  mean_error  wrong\n");
  for (const std::uint32_t peers : {4u, 16u, 64u}) {
    const MassRow row = bench_mass(peers, 5'000, config.seed + 1);
    const bool wrong = row.mass_error > kMassTolerance || row.mean_error > kMassTolerance;
    right = right && !wrong;
    json["rows"].push_back({{"op", "mass"},
                            {"protocol", "push-sum"},
                            {"peers", peers},
                            {"merges", row.merges},
                            {"mass_error", row.mass_error},
                            {"mean_error", row.mean_error},
                            {"wrong", wrong ? 1 : 0}});
    if (config.json) continue;
    print("   push-sum   %5u  %6llu  %10.2e  %10.2e  %5d\n", peers,
          static_cast<unsigned long long>(row.merges), row.mass_error, row.mean_error, wrong);
  }
  if (config.json) std::cout << json.dump(2) << "\n";
  return right ? 0 : 1;
}

}  // namespace

int command_bench(const std::vector<std::string>& args) {
  static const std::vector<Verb> verbs{{"train", "training step against sgemm", train},
                                       {"mix", "mixing against theory", mix}};
  return run_verb("bench", verbs, args);
}

}  // namespace hearsay::runtime
