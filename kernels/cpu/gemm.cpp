// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/gemm.hpp"

#include <sstream>

#include <cblas.h>

namespace hearsay::kernels {
namespace {

CBLAS_TRANSPOSE flag(Op op) { return op == Op::none ? CblasNoTrans : CblasTrans; }
blasint width(std::size_t n) { return static_cast<blasint>(n); }

}  // namespace

template <>
void gemm<float>(Op op_a, Op op_b, std::size_t m, std::size_t n, std::size_t k, const float* a,
                 const float* b, float beta, float* c) {
  cblas_sgemm(CblasRowMajor, flag(op_a), flag(op_b), width(m), width(n), width(k), 1.0f, a,
              width(op_a == Op::none ? k : m), b, width(op_b == Op::none ? n : k), beta, c,
              width(n));
}

template <>
void gemm<double>(Op op_a, Op op_b, std::size_t m, std::size_t n, std::size_t k, const double* a,
                  const double* b, double beta, double* c) {
  cblas_dgemm(CblasRowMajor, flag(op_a), flag(op_b), width(m), width(n), width(k), 1.0, a,
              width(op_a == Op::none ? k : m), b, width(op_b == Op::none ? n : k), beta, c,
              width(n));
}

void use_one_blas_thread() { openblas_set_num_threads(1); }

std::string blas_description() {
  // openblas_get_config() begins with "OpenBLAS 0.3.21 ..."; the core type is the one picked for
  // this CPU.
  std::istringstream config(openblas_get_config());
  std::string name, version;
  config >> name >> version;
  return name + " " + version + " " + openblas_get_corename();
}

}  // namespace hearsay::kernels
