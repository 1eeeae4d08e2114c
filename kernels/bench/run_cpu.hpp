// SPDX-License-Identifier: Apache-2.0
// Measures the CPU cases: warm-up, check, samples, the copy's rate beside them.
#pragma once

#include <functional>
#include <string>

#include "kernels/bench/kernel_case.hpp"

namespace hearsay::kernels {

struct KernelBenchPlan {
  std::vector<std::size_t> sizes;
  std::vector<std::string> only;  // parts of names; empty: all
  std::size_t threads = 1;        // CPU
  double seconds_each = 0.5;      // of samples a case, at least 5 samples
};

bool is_wanted(const KernelBenchPlan& plan, const std::string& op);

// Calls `row` as soon as each case is measured.
void run_cpu_cases(const KernelBenchPlan& plan, const std::function<void(const KernelRow&)>& row);

}  // namespace hearsay::kernels
