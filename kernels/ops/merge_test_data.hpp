// SPDX-License-Identifier: Apache-2.0
// Inputs that the tests of merging kernels share, CPU and CUDA: sizes around every boundary, values
// with outliers, what is not finite, and 16-bit copies.
#pragma once

#include <cstring>
#include <limits>
#include <vector>

#include "kernels/core/half.hpp"
#include "kernels/core/rng.hpp"
#include "kernels/core/workers.hpp"
#include "kernels/ops/ema_ops.hpp"

namespace hearsay::kernels {

inline const std::vector<std::size_t> kTestSizes = {
    0, 1, 2, 7, 31, 32, 33, 255, 1023, 1025, 4095, 4096, 4097, 65'535, 65'537};

inline std::vector<float> test_values(std::size_t n, const char* purpose, float scale = 1.0f) {
  Rng rng = Rng::stream(3, purpose);
  std::vector<float> values(n);
  for (float& v : values)
    v = static_cast<float>(rng.normal()) * scale * (rng.below(50) == 0 ? 1e3f : 1.0f);
  return values;
}

// What is not finite, subnormal, or as large as can be, every `stride` values.
inline void poison(std::vector<float>& values, std::size_t stride) {
  using Limits = std::numeric_limits<float>;
  const float kinds[] = {Limits::quiet_NaN(),
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::denorm_min(),
                         Limits::max(),
                         Limits::lowest(),
                         -0.0f};
  for (std::size_t i = stride / 2, kind = 0; i < values.size(); i += stride, ++kind)
    values[i] = kinds[kind % std::size(kinds)];
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

inline bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

template <typename T>
constexpr ElementType type_of() {
  if constexpr (std::is_same_v<T, float>) return ElementType::fp32;
  return std::is_same_v<T, Bf16> ? ElementType::bf16 : ElementType::fp16;
}

template <typename T>
T rounded_to(float x, bool at_random_now, std::uint32_t random) {
  if constexpr (std::is_same_v<T, float>)
    return x;
  else
    return at_random_now ? at_random(x, random, T{}) : nearest(x, T{});
}

template <typename T>
std::vector<T> stored_as(const std::vector<float>& values) {
  std::vector<T> stored(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) stored[i] = rounded_to<T>(values[i], false, 0);
  return stored;
}

// Parts one after the other, backwards: an order that nobody may count on.
class FakeWorkers final : public Workers {
 public:
  explicit FakeWorkers(std::size_t count) : count_(count) {}
  std::size_t count() const override { return count_; }
  void run(const std::function<void(std::size_t)>& body) override {
    for (std::size_t part = count_; part-- > 0;) body(part);
  }

 private:
  std::size_t count_;
};

}  // namespace hearsay::kernels
