// SPDX-License-Identifier: Apache-2.0
#include "kernels/bench/run_cpu.hpp"

#include <algorithm>
#include <chrono>

#include "kernels/bench/cpu_cases.hpp"
#include "kernels/bench/thread_workers.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kLeastSamples = 5, kMostSamples = 200;

double seconds_of(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

KernelRow measure(const KernelBenchPlan& plan, const std::string& op, std::size_t n,
                  const KernelCase& each) {
  KernelRow row{op, n, each.bytes};
  if (each.reset) each.reset();
  each.run();  // warms up, and is what `wrong` looks at
  row.wrong = each.wrong ? each.wrong() : 0;
  std::vector<double> samples;
  double spent = 0.0;
  while (samples.size() < kLeastSamples ||
         (spent < plan.seconds_each && samples.size() < kMostSamples)) {
    if (each.reset) each.reset();
    samples.push_back(seconds_of(each.run));
    spent += samples.back();
  }
  std::sort(samples.begin(), samples.end());
  row.p50_s = samples[samples.size() / 2];
  row.p99_s = samples[(samples.size() * 99) / 100];
  return row;
}

}  // namespace

bool is_wanted(const KernelBenchPlan& plan, const std::string& op) {
  return plan.only.empty() ||
         std::any_of(plan.only.begin(), plan.only.end(),
                     [&](const auto& part) { return op.find(part) != std::string::npos; });
}

void run_cpu_cases(const KernelBenchPlan& plan, const std::function<void(const KernelRow&)>& row) {
  ThreadWorkers workers(plan.threads);
  for (const std::size_t n : plan.sizes) {
    double copy_rate = 0.0;
    for (const CpuCaseMaker& maker : cpu_cases()) {
      const bool is_copy = copy_rate == 0.0;  // the first
      if (!is_copy && !is_wanted(plan, maker.op)) continue;
      KernelRow measured = measure(plan, maker.op, n, maker.make(n, workers));
      if (is_copy) copy_rate = measured.bytes_per_s();
      measured.copy_bytes_per_s = copy_rate;
      row(measured);
    }
  }
}

}  // namespace hearsay::kernels
