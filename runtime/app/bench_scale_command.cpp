// SPDX-License-Identifier: Apache-2.0
// hearsay bench scale: merges a second of one core in a simulated pool of thousands, its memory,
// and whether it mixes as theory says.
#include <cmath>

#include "kernels/core/errc.hpp"
#include "runtime/app/bench_output.hpp"
#include "runtime/bench/bench_scale.hpp"
#include "runtime/config/config.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTolerance = 0.03;
constexpr double kMostPeers = 1e5, kMostValues = 1e8, kMostMerges = 1e9;

CommandSyntax scale_syntax() {
  CommandSyntax syntax = bench_syntax(
      "bench scale", "merges per second of one core in a simulated pool of thousands, no learning");
  syntax.options = {"seed", "json"};
  syntax.own = {bench_option("peers", "1e4", "N", "in the pool, 2 to 1e5"),
                bench_option("values", "1000", "N", "of a peer's vector"),
                bench_option("merges", "1e6", "N", "to carry out")};
  syntax.examples = {"hearsay bench scale", "hearsay bench scale --peers 1000 --merges 1e5"};
  return syntax;
}

std::uint64_t whole(const Arguments& arguments, const char* name, const char* standard,
                    double least, double most) {
  const std::string text = arguments.value(name).value_or(standard);
  const double value = parse_number(std::string("--") + name, text);
  if (value != std::floor(value) || value < least || value > most) {
    throw kernels::UsageError(std::string("--") + name + ": a whole number from " +
                              std::to_string(static_cast<std::uint64_t>(least)) + " to " +
                              std::to_string(static_cast<std::uint64_t>(most)) + ", not " + text);
  }
  return static_cast<std::uint64_t>(value);
}

bool mixes(const ScaleRow& row) {
  return row.measured > row.expected * (1.0 - kTolerance) &&
         row.measured < row.expected_most * (1.0 + kTolerance);
}

Json row_json(const ScaleRow& row) {
  return {{"op", row.op},
          {"peers", row.peers},
          {"values", row.values},
          {"merges", row.merges},
          {"applied", row.applied},
          {"wall_s", row.wall_s},
          {"merges_per_s", static_cast<double>(row.merges) / row.wall_s},
          {"peak_bytes", row.peak_bytes},
          {"virtual_s", row.virtual_s},
          {"measured", row.measured},
          {"theory", row.expected},
          {"theory_most", row.expected_most},
          {"wrong", mixes(row) ? 0 : 1}};
}

}  // namespace

int bench_scale_command(const std::vector<std::string>& args) {
  const CommandSyntax syntax = scale_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const RunConfig config = typed_config(merge_settings(arguments, process_environment()));
  const auto peers = static_cast<std::uint32_t>(whole(arguments, "peers", "1e4", 2, kMostPeers));
  const std::size_t values = whole(arguments, "values", "1000", 1, kMostValues);
  const std::uint64_t merges = whole(arguments, "merges", "1e6", 1, kMostMerges);
  Json json{{"header", bench_header("scale")}, {"rows", Json::array()}};
  if (!config.json) {
    print_header(json["header"],
                 "pairwise, alpha 0.5, uniform pairs, no learning, one core; contraction: -ln V'/V "
                 "over n - 1 merges;\n# theory: 1 for random initiators, on a clock up to 1.19 (in "
                 "turns)");
    print("#  op     peers  values    merges  wall_s  merges/s  peak_MB  contraction  wrong\n");
  }
  bool right = true;
  for (const auto measure : {&bench_scale_table, &bench_scale_clock}) {
    const ScaleRow row = measure(peers, values, merges, config.seed);
    right = right && mixes(row);
    json["rows"].push_back(row_json(row));
    if (config.json) continue;
    print("   %-5s  %5u  %6zu  %8llu  %6.1f  %8.0f  %7.0f  %11.4f  %5d\n", row.op.c_str(),
          row.peers, row.values, static_cast<unsigned long long>(row.merges), row.wall_s,
          static_cast<double>(row.merges) / row.wall_s, row.peak_bytes * 1e-6, row.measured,
          mixes(row) ? 0 : 1);
    std::cout.flush();
  }
  if (config.json) std::cout << json.dump(2) << "\n";
  return right ? 0 : 1;
}

}  // namespace hearsay::runtime
