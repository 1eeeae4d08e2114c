// SPDX-License-Identifier: Apache-2.0
// hearsay bench record: what it costs to write down what a replay needs.
#include "kernels/core/errc.hpp"
#include "runtime/app/bench_output.hpp"
#include "runtime/bench/bench_record.hpp"
#include "runtime/config/config.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMost = 0.01;  // of the time of training
constexpr std::uint64_t kMostSteps = 1'000'000'000;

CommandSyntax record_syntax() {
  CommandSyntax syntax =
      bench_syntax("bench record", "journal and digests of a live peer beside its mini-batches");
  syntax.options = {"model", "json"};
  syntax.own = {Option{.name = "steps",
                       .default_text = "117",
                       .kind = ValueKind::count,
                       .placeholder = "N",
                       .help = "mini-batches between merges",
                       .detail = "",
                       .group = "bench"}};
  syntax.examples = {"hearsay bench record --steps 29"};
  return syntax;
}

}  // namespace

int bench_record_command(const std::vector<std::string>& args) {
  const CommandSyntax syntax = record_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const RunConfig config = typed_config(merge_settings(arguments, process_environment()));
  const std::uint64_t steps = parse_count("--steps", arguments.value("steps").value_or("117"));
  if (steps < 1 || steps > kMostSteps) throw kernels::UsageError("--steps: from 1 to 1e9");
  const RecordCost cost = bench_record(config.model, steps);
  const bool is_cheap = cost.share() < kMost;
  Json json{{"header", bench_header("record")}, {"rows", Json::array()}};
  json["rows"].push_back({{"op", "record"},
                          {"steps", steps},
                          {"step_us", cost.step_s * 1e6},
                          {"entry_us", cost.entry_s * 1e6},
                          {"entry_bytes", cost.entry_bytes},
                          {"merge_us", cost.merge_s * 1e6},
                          {"merge_bytes", cost.merge_bytes},
                          {"digest_us", cost.digest_s * 1e6},
                          {"share", cost.share()},
                          {"wrong", is_cheap ? 0 : 1}});
  if (config.json) {
    std::cout << json.dump(2) << "\n";
    return is_cheap ? 0 : 1;
  }
  print_header(json["header"],
               config.model.text + ", 784 inputs, batch 32, a merge every " +
                   std::to_string(steps) +
                   " mini-batches; medians. entry: of a mini-batch; merge: frame and flush; digest "
                   "of all weights");
  print("#  step_us  entry_us  entry_B  merge_us  merge_B  digest_us  share_%%\n");
  print("   %7.1f  %8.2f  %7.1f  %8.1f  %7.0f  %9.1f  %7.3f\n", cost.step_s * 1e6,
        cost.entry_s * 1e6, cost.entry_bytes, cost.merge_s * 1e6, cost.merge_bytes,
        cost.digest_s * 1e6, 100.0 * cost.share());
  return is_cheap ? 0 : 1;
}

}  // namespace hearsay::runtime
