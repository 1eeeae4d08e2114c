// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy on a mini-batch of logits, forward and backward in one pass.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearsay::kernels {

struct LossSums {
  double loss = 0.0;        // sum over the batch of -log p(label), natural log
  double confidence = 0.0;  // sum over the batch of p(label)
  std::size_t correct = 0;  // arg max equals label; the lower class wins a tie
};

// logits[batch][classes], labels[batch] < classes. When d_logits is not null it receives the
// gradient of the mean loss, (softmax - one_hot) / batch; it may be `logits` itself. Sums run in
// example order in double. `losses`, when not null, receives one loss an example.
template <typename T>
LossSums softmax_cross_entropy(std::size_t batch, std::size_t classes, const T* logits,
                               const std::uint8_t* labels, T* d_logits, double* losses = nullptr);

}  // namespace hearsay::kernels
