// SPDX-License-Identifier: Apache-2.0
// hearsay bench train: samples a second, and what share of its matrix products' rate a training
// step reaches, on the CPU or on GPUs.
#include <algorithm>
#include <functional>

#include "kernels/core/errc.hpp"
#include "runtime/app/bench_output.hpp"
#include "runtime/bench/bench_train.hpp"
#include "runtime/config/config.hpp"
#include "runtime/device/device_choice.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;
using RowSink = std::function<void(const TrainBenchRow&)>;

constexpr std::uint32_t kBatches[]{32, 64};
constexpr std::uint64_t kMostPeers = 65'535;  // of a card, as in training

CommandSyntax train_bench_syntax() {
  CommandSyntax syntax =
      bench_syntax("bench train", "training steps beside sgemm alone on the same shapes");
  syntax.options = {"model", "json"};
  syntax.own = {bench_option("device", "cpu", "SPEC", "cpu, cuda or cuda:0,1"),
                bench_option("peers", "", "LIST", "that a GPU trains as one batch: 1,16,64"),
                bench_option("require", "", "SHARE",
                             "exit 1 when the share of sgemm's rate at batch 64 is below this")};
  syntax.examples = {"hearsay bench train --require 60%",
                     "hearsay bench train --device cuda --peers 16"};
  return syntax;
}

// `device` and `peers` mean something else here than in the configuration of a run.
RunConfig config_of(Arguments arguments) {
  std::erase_if(arguments.flags,
                [](const auto& flag) { return flag.first == "device" || flag.first == "peers"; });
  return typed_config(merge_settings(arguments, process_environment()));
}

std::vector<std::uint32_t> peers_of(const Arguments& arguments, bool on_gpu) {
  const auto given = arguments.value("peers");
  if (given && !on_gpu)
    throw kernels::UsageError("--peers: a CPU's thread trains one peer; add --device cuda");
  std::vector<std::uint32_t> peers;
  for (const std::string& part : comma_parts(given.value_or("1,16,64"))) {
    const std::uint64_t count = parse_count("--peers", part);
    if (count < 1 || count > kMostPeers)
      throw kernels::UsageError("--peers: from 1 to 65535 a GPU, not " + part);
    peers.push_back(static_cast<std::uint32_t>(count));
  }
  if (peers.empty()) throw kernels::UsageError("--peers: name a number of peers, such as 16");
  return peers;
}

Json row_json(const TrainBenchRow& row, bool on_gpu) {
  Json j{{"op", "train"},
         {"batch", row.batch},
         {"p50_us", row.step_p50_s * 1e6},
         {"p99_us", row.step_p99_s * 1e6},
         {"samples_per_s", row.samples_per_s()},
         {"gflop_per_s", row.flops / row.step_p50_s * 1e-9},
         {"sgemm_gflop_per_s", row.flops / row.gemm_p50_s * 1e-9},
         {"share_of_sgemm", row.share()},
         {"peers", row.peers}};
  if (on_gpu) j["share_on_gpu"] = row.share_on_gpu();
  return j;
}

void print_row(const TrainBenchRow& row, bool on_gpu) {
  print("   train  %5u  %7.1f  %7.1f  %10.0f  %7.1f  %13.1f  %7.1f", row.batch,
        row.step_p50_s * 1e6, row.step_p99_s * 1e6, row.samples_per_s(),
        row.flops / row.step_p50_s * 1e-9, row.flops / row.gemm_p50_s * 1e-9, 100.0 * row.share());
  if (on_gpu) print("  %5u  %8.1f", row.peers, 100.0 * row.share_on_gpu());
  print("\n");
  std::cout.flush();
}

void measure(const DeviceChoice& device, const Spec& model, const std::vector<std::uint32_t>& peers,
             const RowSink& sink) {
  for (const std::uint32_t batch : kBatches) {
    if (!device.on_gpu()) {
      sink(bench_train(model, {batch}).front());
      continue;
    }
    for (const std::uint32_t each : peers) sink(bench_train_on(device, model, batch, each));
  }
}

std::string method_of(const RunConfig& config, const DeviceChoice& device) {
  std::string text = config.model.text + ", 784 inputs, ";
  if (!device.on_gpu()) return text + "1 thread, SGD momentum, clip 1; 60 rounds of 20 steps";
  return text +
         "SGD momentum, clip 1; 60 rounds of 20 steps; a step is a mini-batch of every peer,\n"
         "# peers a card; sgemm: the step's cuBLASLt products alone; on_gpu_%: share of the time "
         "that the GPU is inside mini-batches";
}

}  // namespace

int bench_train_command(const std::vector<std::string>& args) {
  const CommandSyntax syntax = train_bench_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const RunConfig config = config_of(arguments);
  const DeviceChoice device = choose_devices(arguments.value("device").value_or("cpu"));
  const bool on_gpu = device.on_gpu();
  const std::vector<std::uint32_t> peers = peers_of(arguments, on_gpu);
  const auto least = arguments.value("require");
  const double least_share = least ? parse_share("--require", *least) : 0.0;
  Json json{{"header", bench_header("train")}, {"rows", Json::array()}};
  json["header"]["device"] = device.text;
  if (!config.json) {
    print_header(json["header"], "device " + device.text + ", " + method_of(config, device));
    print("#  op     batch   p50_us   p99_us   samples/s  GFlop/s  sgemm_GFlop/s  share_%%%s\n",
          on_gpu ? "  peers  on_gpu_%" : "");
  }
  double share = 0.0;  // at the largest mini-batch, of the most peers
  std::uint32_t most_peers = 0;
  measure(device, config.model, peers, [&](const TrainBenchRow& row) {
    json["rows"].push_back(row_json(row, on_gpu));
    if (!config.json) print_row(row, on_gpu);
    if (row.batch != *std::rbegin(kBatches) || row.peers < most_peers) return;
    most_peers = row.peers;
    share = row.share();
  });
  if (config.json) std::cout << json.dump(2) << "\n";
  return share >= least_share ? 0 : 1;
}

}  // namespace hearsay::runtime
