// SPDX-License-Identifier: Apache-2.0
// The measured operators of each family, CUDA. `cuda_cases` is all of them, the copy first.
#pragma once

#include "kernels/bench/kernel_case.hpp"

namespace hearsay::kernels {

std::vector<CudaCaseMaker> cuda_merge_cases();
std::vector<CudaCaseMaker> cuda_ema_cases();
std::vector<CudaCaseMaker> cuda_delta_cases();
std::vector<CudaCaseMaker> cuda_select_cases();
std::vector<CudaCaseMaker> cuda_sparse_cases();
std::vector<CudaCaseMaker> cuda_quantise_cases();
std::vector<CudaCaseMaker> cuda_index_cases();
std::vector<CudaCaseMaker> cuda_sketch_cases();
std::vector<CudaCaseMaker> cuda_gram_cases();

std::vector<CudaCaseMaker> cuda_cases();

}  // namespace hearsay::kernels
