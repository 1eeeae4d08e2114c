// SPDX-License-Identifier: Apache-2.0
// cuBLAS multiplies pieces of 8192 columns; own kernels add the pieces in fp64 and make all sums,
// each along a fixed tree: 256 threads stride over a row, then halve.
#include <cublas_v2.h>

#include "kernels/cuda/gram_api.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/ops/gram_math.hpp"

namespace {

using namespace hearsay::cuda;
using namespace hearsay::kernels;

constexpr size_t kPiece = 8192;  // kGramPiece
constexpr int kThreads = 256;
constexpr int kCublasErrors = 10'000;

int as_error(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? 0 : kCublasErrors + static_cast<int>(status);
}

// Row-major upper triangle of `piece` (cuBLAS: column-major lower) into the full k.
__global__ void __launch_bounds__(kThreads)
    add_piece(size_t n, const float* piece, bool is_first, double* k) {
  const size_t entries = n * n;
  for (size_t e = blockIdx.x * size_t{kThreads} + threadIdx.x; e < entries;
       e += size_t{kThreads} * gridDim.x) {
    const size_t i = e / n, j = e % n;
    const double value = static_cast<double>(i <= j ? piece[e] : piece[j * n + i]);
    k[e] = is_first ? value : k[e] + value;
  }
}

// The sum over the CTA, for thread 0; `shared` has kThreads values.
template <typename T, typename Add>
__device__ T cta_sum(T own, T* shared, Add add) {
  shared[threadIdx.x] = own;
  for (int width = kThreads / 2; width > 0; width /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < width)
      add(shared[threadIdx.x], shared[threadIdx.x + width]);
  }
  return shared[0];
}

struct AddDouble {
  __device__ void operator()(double& to, const double& more) const { to += more; }
};
struct AddPair {
  __device__ void operator()(GramPair& to, const GramPair& more) const {
    add_sums(to.all, more.all);
    add_sums(to.off, more.off);
  }
};

__global__ void __launch_bounds__(kThreads) row_means(size_t n, const double* k, double* means) {
  __shared__ double shared[kThreads];
  double sum = 0.0;
  for (size_t j = threadIdx.x; j < n; j += kThreads) sum += k[blockIdx.x * n + j];
  sum = cta_sum(sum, shared, AddDouble{});
  if (threadIdx.x == 0) means[blockIdx.x] = sum / static_cast<double>(n);
}

__global__ void __launch_bounds__(kThreads) mean_of_means(size_t n, double* means) {
  __shared__ double shared[kThreads];
  double sum = 0.0;
  for (size_t i = threadIdx.x; i < n; i += kThreads) sum += means[i];
  sum = cta_sum(sum, shared, AddDouble{});
  if (threadIdx.x == 0) means[n] = sum / static_cast<double>(n);
}

__global__ void __launch_bounds__(kThreads) centre(size_t n, const double* means, double* k) {
  const size_t entries = n * n;
  for (size_t e = blockIdx.x * size_t{kThreads} + threadIdx.x; e < entries;
       e += size_t{kThreads} * gridDim.x)
    k[e] += means[n] - (means[e / n] + means[e % n]);
}

__device__ void with_row_products(GramSums& row) {
  row.rows_kl = row.k * row.l;
  row.rows_kk = row.k * row.k;
  row.rows_ll = row.l * row.l;
}

__global__ void __launch_bounds__(kThreads)
    row_sums(size_t n, const double* k, const double* l, GramPair* rows) {
  __shared__ GramPair shared[kThreads];
  const size_t i = blockIdx.x;
  GramPair own{};
  for (size_t j = threadIdx.x; j < n; j += kThreads) {
    const double a = k[i * n + j], b = l[i * n + j];
    const GramSums term{a * b, a * a, b * b, a, b, 0.0, 0.0, 0.0};
    add_sums(own.all, term);
    if (j != i) add_sums(own.off, term);
  }
  own = cta_sum(own, shared, AddPair{});
  if (threadIdx.x != 0) return;
  with_row_products(own.all);
  with_row_products(own.off);
  rows[i] = own;
}

__global__ void __launch_bounds__(kThreads)
    finish_cka(size_t n, const GramPair* rows, bool debiased, double* out) {
  __shared__ GramPair shared[kThreads];
  GramPair own{};
  for (size_t i = threadIdx.x; i < n; i += kThreads) AddPair{}(own, rows[i]);
  own = cta_sum(own, shared, AddPair{});
  if (threadIdx.x != 0) return;
  const Similarity s = similarity_of(own, static_cast<double>(n), debiased);
  out[0] = s.undefined != 0 ? 0.0 : s.kl / (sqrt(s.kk) * sqrt(s.ll));
  out[1] = s.kl;
  out[2] = s.kk;
  out[3] = s.ll;
  out[4] = s.undefined;
}

int grid_for(size_t entries, cudaError_t& error) {
  const size_t most = static_cast<size_t>(multiprocessors(error)) * 8;
  const size_t ctas = (entries + kThreads - 1) / kThreads;
  return static_cast<int>(ctas < most ? ctas : most);
}

}  // namespace

extern "C" int hs_cuda_gram_open(void** handle) {
  cublasHandle_t opened = nullptr;
  const cublasStatus_t status = cublasCreate(&opened);
  if (status != CUBLAS_STATUS_SUCCESS) return as_error(status);
  *handle = opened;
  return as_error(cublasSetMathMode(opened, CUBLAS_PEDANTIC_MATH));
}

extern "C" int hs_cuda_gram_close(void* handle) {
  return as_error(cublasDestroy(static_cast<cublasHandle_t>(handle)));
}

extern "C" int hs_cuda_gram(void* handle, size_t n, size_t p, const float* d_x, float* d_workspace,
                            double* d_k, void* stream) {
  if (n == 0) return 0;
  cudaStream_t on = as_stream(stream);
  if (p == 0) return cudaMemsetAsync(d_k, 0, n * n * sizeof(double), on);
  cudaError_t result = cudaSuccess;
  const int grid = grid_for(n * n, result);
  if (result != cudaSuccess) return result;
  auto* const blas = static_cast<cublasHandle_t>(handle);
  const cublasStatus_t set = cublasSetStream(blas, on);
  if (set != CUBLAS_STATUS_SUCCESS) return as_error(set);
  const float one = 1.0f, zero = 0.0f;
  for (size_t begin = 0; begin < p; begin += kPiece) {
    const size_t columns = p - begin < kPiece ? p - begin : kPiece;
    const cublasStatus_t status =
        cublasSsyrk_64(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, static_cast<int64_t>(n),
                       static_cast<int64_t>(columns), &one, d_x + begin, static_cast<int64_t>(p),
                       &zero, d_workspace, static_cast<int64_t>(n));
    if (status != CUBLAS_STATUS_SUCCESS) return as_error(status);
    add_piece<<<grid, kThreads, 0, on>>>(n, d_workspace, begin == 0, d_k);
  }
  return cudaGetLastError();
}

extern "C" int hs_cuda_centre_gram(size_t n, double* d_k, double* d_workspace, void* stream) {
  if (n == 0) return 0;
  cudaError_t result = cudaSuccess;
  const int grid = grid_for(n * n, result);
  if (result != cudaSuccess) return result;
  cudaStream_t on = as_stream(stream);
  row_means<<<static_cast<unsigned>(n), kThreads, 0, on>>>(n, d_k, d_workspace);
  mean_of_means<<<1, kThreads, 0, on>>>(n, d_workspace);
  centre<<<grid, kThreads, 0, on>>>(n, d_workspace, d_k);
  return cudaGetLastError();
}

extern "C" size_t hs_cuda_cka_workspace(size_t n) { return n * sizeof(GramPair); }

extern "C" int hs_cuda_cka(size_t n, const double* d_k, const double* d_l, int debiased,
                           void* d_workspace, double* d_out, void* stream) {
  if (n < (debiased != 0 ? 4u : 2u)) return cudaErrorInvalidValue;
  auto* const rows = static_cast<GramPair*>(d_workspace);
  cudaStream_t on = as_stream(stream);
  row_sums<<<static_cast<unsigned>(n), kThreads, 0, on>>>(n, d_k, d_l, rows);
  finish_cka<<<1, kThreads, 0, on>>>(n, rows, debiased != 0, d_out);
  return cudaGetLastError();
}
