// SPDX-License-Identifier: Apache-2.0
// C[m x n] = op(A) * op(B) + beta * C, row-major, by OpenBLAS on one thread. float trains; double
// checks gradients. Agreement: bit-identical run to run for one OpenBLAS core type (named in
// run.json).
#pragma once

#include <cstddef>
#include <string>

namespace hearsay::kernels {

enum class Op { none, transpose };

template <typename T>
void gemm(Op op_a, Op op_b, std::size_t m, std::size_t n, std::size_t k, const T* a, const T* b,
          T beta, T* c);

// Sets OpenBLAS to one thread in this process, through its API: an environment variable would come
// too late.
void use_one_blas_thread();
// "OpenBLAS 0.3.21 SkylakeX": library, version, core type chosen at load time.
std::string blas_description();

}  // namespace hearsay::kernels
