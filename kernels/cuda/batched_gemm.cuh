// SPDX-License-Identifier: Apache-2.0
// One fp32 product for many slots, row-major, by one cuBLASLt call. The algorithm is chosen once,
// for the shape and a nominal number of slots, and sums are never split, so that a slot's bits
// depend neither on how many others there are nor on its place. TF32 stays off.
#pragma once

#include <cublasLt.h>

#include <cstddef>

#include "kernels/cuda/handles.cuh"

namespace hearsay::cuda {

struct GemmShape {
  bool transpose_a, transpose_b;
  std::size_t m, n, k;                       // c[m x n] = op(a)[m x k] * op(b)[k x n]
  std::size_t stride_a, stride_b, stride_c;  // from slot to slot, in values
  std::size_t row_a = 0, row_b = 0;  // from row to row of a and b as stored; 0: rows are dense
};

class BatchedGemm {
 public:
  BatchedGemm(cublasLtHandle_t handle, const GemmShape& shape, std::size_t alignment_bytes);
  ~BatchedGemm();
  BatchedGemm(const BatchedGemm&) = delete;
  BatchedGemm& operator=(const BatchedGemm&) = delete;

  // a, b, c point to slot 0.
  void run(std::size_t first, std::size_t count, const float* a, const float* b, float* c,
           cudaStream_t stream);

 private:
  cublasLtHandle_t handle_;
  GemmShape shape_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr, right_ = nullptr, out_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  std::size_t slots_ = 0;  // that the layouts say now
};

}  // namespace hearsay::cuda
