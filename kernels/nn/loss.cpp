// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/loss.hpp"

#include <algorithm>
#include <cmath>

namespace hearsay::kernels {

template <typename T>
LossSums softmax_cross_entropy(std::size_t batch, std::size_t classes, const T* logits,
                               const std::uint8_t* labels, T* d_logits, double* losses) {
  LossSums sums;
  const T inverse_batch = T{1} / static_cast<T>(batch);
  for (std::size_t b = 0; b < batch; ++b) {
    const T* row = logits + b * classes;
    const std::size_t label = labels[b];
    const T* top = std::max_element(row, row + classes);
    const T peak = *top;
    T total{0};
    for (std::size_t c = 0; c < classes; ++c) total += std::exp(row[c] - peak);
    const T log_total = std::log(total);
    const T log_p = row[label] - peak - log_total;
    sums.loss -= static_cast<double>(log_p);
    if (losses != nullptr) losses[b] = -static_cast<double>(log_p);
    sums.confidence += static_cast<double>(std::exp(log_p));
    sums.correct += static_cast<std::size_t>(top - row) == label;
    if (d_logits == nullptr) continue;
    T* out = d_logits + b * classes;
    for (std::size_t c = 0; c < classes; ++c) {
      const T p = std::exp(row[c] - peak - log_total);
      out[c] = (p - (c == label ? T{1} : T{0})) * inverse_batch;
    }
  }
  return sums;
}

template LossSums softmax_cross_entropy(std::size_t, std::size_t, const float*, const std::uint8_t*,
                                        float*, double*);
template LossSums softmax_cross_entropy(std::size_t, std::size_t, const double*,
                                        const std::uint8_t*, double*, double*);

}  // namespace hearsay::kernels
