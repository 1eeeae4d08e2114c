// SPDX-License-Identifier: Apache-2.0
// The measured operators of each family, CPU. `cpu_cases` is all of them, the copy first.
#pragma once

#include "kernels/bench/kernel_case.hpp"

namespace hearsay::kernels {

std::vector<CpuCaseMaker> cpu_merge_cases();
std::vector<CpuCaseMaker> cpu_ema_cases();
std::vector<CpuCaseMaker> cpu_delta_cases();
std::vector<CpuCaseMaker> cpu_select_cases();
std::vector<CpuCaseMaker> cpu_sparse_cases();
std::vector<CpuCaseMaker> cpu_quantise_cases();
std::vector<CpuCaseMaker> cpu_index_cases();
std::vector<CpuCaseMaker> cpu_sketch_cases();
std::vector<CpuCaseMaker> cpu_gram_cases();

std::vector<CpuCaseMaker> cpu_cases();

}  // namespace hearsay::kernels
