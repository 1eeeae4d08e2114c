// SPDX-License-Identifier: Apache-2.0
// Samples of a duration, sorted: what a benchmark reports instead of a single time.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace hearsay::runtime {

class Distribution {
 public:
  void add(double seconds) {
    samples_.insert(std::upper_bound(samples_.begin(), samples_.end(), seconds), seconds);
  }
  std::size_t count() const noexcept { return samples_.size(); }
  double at(double share) const {  // 0 = min, 0.5 = median, 1 = max
    const auto last = static_cast<double>(samples_.size() - 1);
    return samples_[static_cast<std::size_t>(share * last + 0.5)];
  }

 private:
  std::vector<double> samples_;
};

inline double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace hearsay::runtime
