// SPDX-License-Identifier: Apache-2.0
// cuBLAS thinks column-major, where a row-major matrix is its transpose: c^T = op(b)^T op(a)^T, so
// b is the left factor and nothing is moved.
#include "kernels/cuda/batched_gemm.cuh"

#include <cstdint>

namespace hearsay::cuda {
namespace {

constexpr std::int32_t kNominalSlots = 16;

cublasLtMatrixLayout_t layout(std::size_t rows, std::size_t columns, std::size_t stride,
                              std::size_t leading = 0) {
  cublasLtMatrixLayout_t made = nullptr;
  must(cublasLtMatrixLayoutCreate(&made, CUDA_R_32F, rows, columns,
                                  static_cast<std::int64_t>(leading == 0 ? rows : leading)),
       "matrix layout");
  const auto distance = static_cast<std::int64_t>(stride);
  must(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                        &distance, sizeof distance),
       "matrix layout");
  return made;
}

void set_slots(cublasLtMatrixLayout_t each, std::int32_t slots) {
  must(cublasLtMatrixLayoutSetAttribute(each, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &slots,
                                        sizeof slots),
       "matrix layout");
}

void set_operation(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t side, bool turned) {
  const cublasOperation_t operation = turned ? CUBLAS_OP_T : CUBLAS_OP_N;
  must(cublasLtMatmulDescSetAttribute(product, side, &operation, sizeof operation), "product");
}

}  // namespace

BatchedGemm::BatchedGemm(cublasLtHandle_t handle, const GemmShape& shape,
                         std::size_t alignment_bytes)
    : handle_(handle), shape_(shape) {
  must(cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "product");
  set_operation(product_, CUBLASLT_MATMUL_DESC_TRANSA, shape.transpose_b);
  set_operation(product_, CUBLASLT_MATMUL_DESC_TRANSB, shape.transpose_a);
  left_ = shape.transpose_b ? layout(shape.k, shape.n, shape.stride_b, shape.row_b)
                            : layout(shape.n, shape.k, shape.stride_b, shape.row_b);
  right_ = shape.transpose_a ? layout(shape.m, shape.k, shape.stride_a, shape.row_a)
                             : layout(shape.k, shape.m, shape.stride_a, shape.row_a);
  out_ = layout(shape.n, shape.m, shape.stride_c);
  for (const auto each : {left_, right_, out_}) set_slots(each, kNominalSlots);

  cublasLtMatmulPreference_t preference = nullptr;
  must(cublasLtMatmulPreferenceCreate(&preference), "product");
  const std::uint32_t no_splits = CUBLASLT_REDUCTION_SCHEME_NONE;
  const std::size_t no_workspace = 0;
  const auto alignment = static_cast<std::uint32_t>(alignment_bytes);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                       &no_splits, sizeof no_splits);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                       &no_workspace, sizeof no_workspace);
  for (const auto side :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    cublasLtMatmulPreferenceSetAttribute(preference, side, &alignment, sizeof alignment);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, product_, left_, right_, out_, out_, preference, 1, &found, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  must(status, "choosing a cuBLASLt algorithm");
  if (count == 0) throw CudaFault("cuBLASLt has no algorithm for a product of this shape");
  algorithm_ = found.algo;
}

BatchedGemm::~BatchedGemm() {
  for (const auto each : {left_, right_, out_}) cublasLtMatrixLayoutDestroy(each);
  cublasLtMatmulDescDestroy(product_);
}

void BatchedGemm::run(std::size_t first, std::size_t count, const float* a, const float* b,
                      float* c, cudaStream_t stream) {
  if (slots_ != count) {
    for (const auto each : {left_, right_, out_}) set_slots(each, static_cast<std::int32_t>(count));
    slots_ = count;
  }
  const float one = 1.0f, zero = 0.0f;
  float* out = c + first * shape_.stride_c;
  must(cublasLtMatmul(handle_, product_, &one, b + first * shape_.stride_b, left_,
                      a + first * shape_.stride_a, right_, &zero, out, out_, out, out_, &algorithm_,
                      nullptr, 0, stream),
       "cublasLtMatmul");
}

}  // namespace hearsay::cuda
