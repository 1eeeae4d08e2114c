// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/dense.hpp"

#include <algorithm>

#include "kernels/ops/gemm.hpp"

namespace hearsay::kernels {

template <typename T>
void dense_forward(const DenseShape& s, const T* x, const T* weight, const T* bias, T* y) {
  for (std::size_t b = 0; b < s.batch; ++b) std::copy_n(bias, s.out, y + b * s.out);
  gemm<T>(Op::none, Op::transpose, s.batch, s.out, s.in, x, weight, T{1}, y);
}

template <typename T>
void dense_backward(const DenseShape& s, const T* x, const T* weight, const T* dy, T* d_weight,
                    T* d_bias, T* dx) {
  gemm<T>(Op::transpose, Op::none, s.out, s.in, s.batch, dy, x, T{0}, d_weight);
  std::fill_n(d_bias, s.out, T{0});
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t o = 0; o < s.out; ++o) d_bias[o] += dy[b * s.out + o];
  }
  if (dx != nullptr) gemm<T>(Op::none, Op::none, s.batch, s.in, s.out, dy, weight, T{0}, dx);
}

template <typename T>
void relu_forward(std::size_t count, T* y) {
  for (std::size_t i = 0; i < count; ++i) y[i] = y[i] < T{0} ? T{0} : y[i];
}

template <typename T>
void relu_backward(std::size_t count, const T* y, T* dy) {
  for (std::size_t i = 0; i < count; ++i) dy[i] = y[i] > T{0} ? dy[i] : T{0};
}

template void dense_forward(const DenseShape&, const float*, const float*, const float*, float*);
template void dense_forward(const DenseShape&, const double*, const double*, const double*,
                            double*);
template void dense_backward(const DenseShape&, const float*, const float*, const float*, float*,
                             float*, float*);
template void dense_backward(const DenseShape&, const double*, const double*, const double*,
                             double*, double*, double*);
template void relu_forward(std::size_t, float*);
template void relu_forward(std::size_t, double*);
template void relu_backward(std::size_t, const float*, float*);
template void relu_backward(std::size_t, const double*, double*);

}  // namespace hearsay::kernels
