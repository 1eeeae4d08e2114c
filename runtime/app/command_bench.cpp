// SPDX-License-Identifier: Apache-2.0
// hearsay bench: mix (contraction against theory) and net (what the transport carries between
// processes); the others have a file each (bench_<name>_command.cpp).
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>

#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
#include "runtime/app/bench_output.hpp"
#include "runtime/app/command.hpp"
#include "runtime/bench/bench_mix.hpp"
#include "runtime/bench/bench_net.hpp"
#include "runtime/bench/net_workload.hpp"
#include "runtime/config/config.hpp"
#include "runtime/host/peer_security.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kContractionTolerance = 0.03;
constexpr double kMassTolerance = 1e-6;
constexpr double kMostNetValues = 5e8;  // 2 GB a model

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
  Json json{{"header", bench_header("mix")}, {"rows", Json::array()}};
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

// "1e4,2.5e7": whole numbers from `least` on.
std::vector<std::size_t> parse_sizes(const std::string& text, std::size_t least) {
  std::vector<std::size_t> sizes;
  for (const std::string& part : comma_parts(text)) {
    const double size = parse_number("--sizes", part);
    if (size != std::floor(size) || size < static_cast<double>(least) || size > kMostNetValues) {
      throw kernels::UsageError("--sizes: " + part + " is no number of values from " +
                                std::to_string(least) + " to 5e8");
    }
    sizes.push_back(static_cast<std::size_t>(size));
  }
  return sizes;
}

CommandSyntax net_syntax() {
  CommandSyntax syntax = bench_syntax(
      "bench net", "frames between processes of this machine, over loopback TCP, values checked");
  Option processes =
      bench_option("processes", "4", "N", "of an allreduce, 2 to 16; the others take two");
  processes.kind = ValueKind::count;
  syntax.own = {
      bench_option("op", "latency,swap,exchange,stream", "LIST",
                   "out of latency, swap, exchange, stream, allreduce"),
      bench_option("sizes", "", "LIST",
                   "values of a model: 1e4,1e5,1e6,2.5e7; allreduce: 235146,1e6"),
      processes,
      bench_option("secret", "", "FILE", "encrypted, as peers with --secret FILE or env:NAME")};
  syntax.examples = {"hearsay bench net --op swap --sizes 2.5e7",
                     "hearsay bench net --op allreduce --processes 4"};
  return syntax;
}

Json row_json(const NetRow& row) {
  Json j{{"op", row.op},
         {"processes", row.processes},
         {"n", row.values},
         {"bytes", row.bytes},
         {"samples", row.samples},
         {"p50_us", row.p50_s * 1e6},
         {"p99_us", row.p99_s * 1e6}};
  j["per_s"] = row.per_s();
  j["gb_per_s"] = row.gb_per_s();
  j["wire_gb_per_s"] = row.wire_gb_per_s();
  j["share_of_copy"] = row.values > 0 ? Json(row.share_of_copy()) : Json(nullptr);
  j["wrong"] = row.wrong;
  if (row.has_digest()) j["digest"] = row.digest.hex();
  return j;
}

void print_row(const NetRow& row) {
  const auto bytes = static_cast<double>(row.bytes);
  print("   %-9s  %9u  %9zu  %8.2e  %8.1f  %8.1f  %8.1f  %5.2f  %9.2f  ", row.op.c_str(),
        row.processes, row.values, bytes, row.p50_s * 1e6, row.p99_s * 1e6, row.per_s(),
        row.gb_per_s(), row.wire_gb_per_s());
  if (row.values > 0) {
    print("%6.1f", 100.0 * row.share_of_copy());
  } else {
    print("%6s", "-");
  }
  print("  %5llu\n", static_cast<unsigned long long>(row.wrong));
  std::cout.flush();
}

BenchSecurity bench_security(const Arguments& arguments) {
  RunConfig config;
  config.secret = arguments.value("secret");
  return security_of(config);
}

std::vector<std::function<NetRow()>> net_plan(const Arguments& arguments,
                                              const BenchSecurity& security) {
  const std::uint64_t processes =
      parse_count("--processes", arguments.value("processes").value_or("4"));
  if (processes < 2 || processes > net_workload::kMostProcesses)
    throw kernels::UsageError("--processes: from 2 to 16");
  std::vector<std::function<NetRow()>> plan;
  for (const std::string& op :
       comma_parts(arguments.value("op").value_or("latency,swap,exchange,stream"))) {
    const bool ring = op == "allreduce";
    const auto sizes =
        parse_sizes(arguments.value("sizes").value_or(ring ? "235146,1e6" : "1e4,1e5,1e6,2.5e7"),
                    ring ? processes : 1);  // every process has a slice of its own
    if (op == "latency") {
      plan.emplace_back([=] { return bench_latency(security); });
    } else if (op != "swap" && op != "exchange" && op != "stream" && !ring) {
      throw_unknown("op", op, {"latency", "swap", "exchange", "stream", "allreduce"});
    }
    for (const std::size_t n : sizes) {
      if (op == "swap") plan.emplace_back([=] { return bench_swap(n, security); });
      if (op == "exchange") plan.emplace_back([=] { return bench_exchange(n, security); });
      if (op == "stream") plan.emplace_back([=] { return bench_stream(n, security); });
      if (ring) {
        plan.emplace_back(
            [=] { return bench_allreduce(n, static_cast<std::uint32_t>(processes), security); });
      }
    }
  }
  return plan;
}

int net(const std::vector<std::string>& args) {
  const CommandSyntax syntax = net_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const bool as_json = wants_json(arguments);
  const BenchSecurity security = bench_security(arguments);
  const auto plan = net_plan(arguments, security);
  Json json{{"header", bench_header("net")}, {"rows", Json::array()}};
  json["header"]["tls"] = security != nullptr;
  if (!as_json) {
    print_header(
        json["header"],
        std::string(security ? "TLS 1.3 over " : "") +
            "loopback TCP, checksummed frames; latency is half a round trip; GB/s of what one "
            "process sends; swap sends\n# and merges, exchange copies first; copy_%: share of "
            "memcpy's rate for n "
            "values; every value checked");
    print(
        "#  op         processes          n     bytes    p50_us    p99_us     per_s   GB/s  "
        "wire_GB/s  copy_%%  wrong\n");
  }
  std::uint64_t wrong = 0;
  for (const auto& measure : plan) {
    const NetRow row = measure();
    wrong += row.wrong;
    json["rows"].push_back(row_json(row));
    if (!as_json) print_row(row);
  }
  if (as_json) std::cout << json.dump(2) << "\n";
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int command_bench(const std::vector<std::string>& args) {
  static const std::vector<Verb> verbs{
      {"kernels", "operators on weights beside a copy", bench_kernels_command},
      {"train", "training step against sgemm", bench_train_command},
      {"codec", "messages beside their entropy", bench_codec_command},
      {"mix", "mixing against theory", mix},
      {"net", "frames between processes", net},
      {"record", "what a replay needs, written down", bench_record_command},
      {"scale", "pools of thousands", bench_scale_command}};
  return run_verb("bench", verbs, args);
}

}  // namespace hearsay::runtime
