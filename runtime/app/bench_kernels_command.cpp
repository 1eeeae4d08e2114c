// SPDX-License-Identifier: Apache-2.0
// hearsay bench kernels: what the operators on flat weights reach of a copy's rate, on the CPU or a
// GPU, and whether every value is right.
#include <cmath>
#include <functional>

#include "kernels/bench/run_cpu.hpp"
#include "kernels/core/errc.hpp"
#include "kernels/cuda/bench_api.h"
#include "runtime/app/bench_output.hpp"
#include "runtime/config/config.hpp"
#include "runtime/device/cuda_library.hpp"
#include "runtime/device/device_choice.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;
using kernels::KernelBenchPlan;
using kernels::KernelRow;
using RowSink = std::function<void(const KernelRow&)>;

constexpr double kMostValues = 1e10;
constexpr std::uint64_t kMostThreads = 256;

CommandSyntax kernels_syntax() {
  CommandSyntax syntax =
      bench_syntax("bench kernels", "operators on flat weights beside a copy, every value checked");
  syntax.options = {"json"};
  syntax.own = {
      bench_option("device", "cpu", "SPEC", "cpu, cuda or cuda:1"),
      bench_option("sizes", "", "LIST", "values: 1e6,1e7 on a CPU, 1e6,1.24e8,1e9 on a GPU"),
      bench_option("only", "", "LIST", "operators whose names contain one of these words"),
      bench_option("threads", "2", "T", "of a CPU"),
      bench_option("require", "", "OP=SHARE",
                   "exit 1 when OP is below this share of the copy at the largest size")};
  syntax.examples = {"hearsay bench kernels --only ema",
                     "hearsay bench kernels --device cuda --sizes 1.24e8"};
  return syntax;
}

struct Requirement {
  std::string op;
  double share = 0.0;
};

std::vector<Requirement> requirements(const Arguments& arguments) {
  std::vector<Requirement> all;
  for (const std::string& part : comma_parts(arguments.value("require").value_or(""))) {
    const std::size_t at = part.rfind('=');
    if (at == std::string::npos || at == 0)
      throw kernels::UsageError("--require: OP=SHARE such as 'ema fp32=85%', not " + part);
    all.push_back({part.substr(0, at), parse_share("--require", part.substr(at + 1))});
  }
  return all;
}

KernelBenchPlan plan_of(const Arguments& arguments, bool on_gpu) {
  KernelBenchPlan plan;
  const std::string standard = on_gpu ? "1e6,1.24e8,1e9" : "1e6,1e7";
  for (const std::string& part : comma_parts(arguments.value("sizes").value_or(standard))) {
    const double size = parse_number("--sizes", part);
    if (size != std::floor(size) || size < 1 || size > kMostValues)
      throw kernels::UsageError("--sizes: " + part + " is no number of values from 1 to 1e10");
    plan.sizes.push_back(static_cast<std::size_t>(size));
  }
  plan.only = comma_parts(arguments.value("only").value_or(""));
  const std::uint64_t threads = parse_count("--threads", arguments.value("threads").value_or("2"));
  if (threads < 1 || threads > kMostThreads) throw kernels::UsageError("--threads: from 1 to 256");
  plan.threads = static_cast<std::size_t>(threads);
  return plan;
}

void run_cuda_cases(const KernelBenchPlan& plan, int gpu, const RowSink& sink) {
  std::string why;
  const CudaLibrary* const library = CudaLibrary::open(kCudaBenchLibrary, why);
  if (library == nullptr) throw kernels::UsageError("bench kernels: " + why);
  std::vector<const char*> only;
  for (const std::string& part : plan.only) only.push_back(part.c_str());
  const auto take = [](void* user, const HsCudaBenchRow* row) {
    KernelRow made{row->op,   row->n, row->bytes, row->p50_s, row->p99_s, row->copy_bytes_per_s,
                   row->wrong};
    (*static_cast<const RowSink*>(user))(made);
  };
  char error[512] = "";
  const auto bench = library->function<decltype(&hs_cuda_bench)>("hs_cuda_bench");
  if (bench(gpu, only.data(), only.size(), plan.sizes.data(), plan.sizes.size(), take,
            const_cast<RowSink*>(&sink), error, sizeof error) != 0)
    throw kernels::Fault(kernels::ExitCode::check_failed, std::string("bench kernels: ") + error);
}

Json row_json(const KernelRow& row) {
  return {{"op", row.op},
          {"n", row.n},
          {"bytes", row.bytes},
          {"p50_us", row.p50_s * 1e6},
          {"p99_us", row.p99_s * 1e6},
          {"gb_per_s", row.bytes_per_s() * 1e-9},
          {"share_of_copy", row.share_of_copy()},
          {"wrong", row.wrong}};
}

void print_row(const KernelRow& row) {
  print("   %-28s  %10zu  %8.2e  %10.1f  %10.1f  %7.1f  %6.1f  %5llu\n", row.op.c_str(), row.n,
        row.bytes, row.p50_s * 1e6, row.p99_s * 1e6, row.bytes_per_s() * 1e-9,
        100.0 * row.share_of_copy(), static_cast<unsigned long long>(row.wrong));
  std::cout.flush();
}

// Is every requirement met by the rows of the largest size? Says which is not.
bool is_met(const std::vector<Requirement>& required, const std::vector<KernelRow>& rows) {
  bool met = true;
  for (const Requirement& each : required) {
    const KernelRow* found = nullptr;
    for (const KernelRow& row : rows) {
      if (row.op == each.op && (found == nullptr || row.n >= found->n)) found = &row;
    }
    if (found == nullptr)
      throw kernels::UsageError("--require: no operator '" + each.op + "' was measured");
    if (found->share_of_copy() >= each.share) continue;
    met = false;
    std::cerr << "hearsay: " << each.op << " reaches " << 100.0 * found->share_of_copy()
              << " % of the copy's rate, less than " << 100.0 * each.share << " %\n";
  }
  return met;
}

}  // namespace

int bench_kernels_command(const std::vector<std::string>& args) {
  const CommandSyntax syntax = kernels_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const bool as_json = wants_json(arguments);
  const DeviceChoice device = choose_devices(arguments.value("device").value_or("cpu"));
  const KernelBenchPlan plan = plan_of(arguments, device.on_gpu());
  const std::vector<Requirement> required = requirements(arguments);
  Json json{{"header", bench_header("kernels")}, {"rows", Json::array()}};
  json["header"]["device"] = device.text;
  if (!device.on_gpu()) json["header"]["threads"] = plan.threads;
  if (!as_json) {
    print_header(json["header"],
                 "device " + device.text +
                     (device.on_gpu() ? "" : ", " + std::to_string(plan.threads) + " threads") +
                     "; bytes that must move, read and written; copy_%: share of the copy's rate "
                     "at that size");
    print("#  %-28s  %10s  %8s  %10s  %10s  %7s  %6s  %5s\n", "op", "n", "bytes", "p50_us",
          "p99_us", "GB/s", "copy_%", "wrong");
  }
  std::vector<KernelRow> rows;
  const RowSink sink = [&](const KernelRow& row) {
    rows.push_back(row);
    json["rows"].push_back(row_json(row));
    if (!as_json) print_row(row);
  };
  if (device.on_gpu()) {
    run_cuda_cases(plan, device.gpus.front(), sink);
  } else {
    kernels::run_cpu_cases(plan, sink);
  }
  if (as_json) std::cout << json.dump(2) << "\n";
  std::uint64_t wrong = 0;
  for (const KernelRow& row : rows) wrong += row.wrong;
  return wrong == 0 && is_met(required, rows) ? 0 : 1;
}

}  // namespace hearsay::runtime
