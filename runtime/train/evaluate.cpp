// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/evaluate.hpp"

#include <algorithm>
#include <vector>

namespace hearsay::runtime {

Evaluation evaluate(NnContext& context, const ImageSet& test, std::span<const float> weights,
                    std::size_t limit, const std::function<std::uint8_t(std::uint8_t)>& label,
                    const ParallelFor& parallel_for) {
  const std::size_t total = limit == 0 ? test.count() : std::min(limit, test.count());
  if (total == 0) return {};
  const std::size_t chunk = context.max_batch();
  std::vector<kernels::LossSums> sums((total + chunk - 1) / chunk);
  parallel_for(sums.size(), [&](std::size_t index, std::size_t worker) {
    const std::size_t begin = index * chunk, count = std::min(chunk, total - begin);
    std::vector<std::uint8_t> labels(count);
    for (std::size_t row = 0; row < count; ++row) {
      context.load_row(worker, row, test.image(begin + row));
      labels[row] = label(test.labels[begin + row]);
    }
    sums[index] = context.workspace(worker).evaluate(count, weights.data(), labels.data());
  });
  kernels::LossSums all;
  for (const kernels::LossSums& part : sums) add(all, part);
  const double n = static_cast<double>(total);
  return {all.loss / n, static_cast<double>(all.correct) / n, total};
}

}  // namespace hearsay::runtime
