// SPDX-License-Identifier: Apache-2.0
// What a network benchmark and its MPI twin in experiments/peers both do: how many samples, and
// inputs whose results are known in advance. Every value of every process in every sample is a
// whole number below 2^20, so sums of up to 16 of them and means of two are exact in fp32, in any
// order: what is wrong is counted, not tolerated. Header only. Cost: a few operations per value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearsay::runtime::net_workload {

inline constexpr std::uint32_t kMostProcesses = 16;

struct Rounds {
  std::uint32_t warm_up, samples;
  std::uint32_t total() const { return warm_up + samples; }
};
inline Rounds rounds_for(std::size_t values) {
  return values > 4'000'000 ? Rounds{2, 9} : Rounds{10, 60};
}

inline float value_of(std::uint32_t process, std::uint32_t sample, std::size_t i) {
  const std::uint32_t salt = process * 0x9e3779b9u + sample * 0x85ebca6bu;
  return static_cast<float>((static_cast<std::uint32_t>(i) * 0x9e3779b1u + salt) >> 12);
}

inline void fill(std::span<float> out, std::uint32_t process, std::uint32_t sample) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_of(process, sample, i);
}

// How many values differ from what expected(i) says.
template <typename Expected>
std::uint64_t count_wrong(std::span<const float> values, const Expected& expected) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] == expected(i) ? 0 : 1;
  return wrong;
}

inline std::uint64_t wrong_copies(std::span<const float> values, std::uint32_t process,
                                  std::uint32_t sample) {
  return count_wrong(values, [&](std::size_t i) { return value_of(process, sample, i); });
}

inline std::uint64_t wrong_sums(std::span<const float> values, std::uint32_t processes,
                                std::uint32_t sample) {
  return count_wrong(values, [&](std::size_t i) {
    float sum = 0.0f;
    for (std::uint32_t p = 0; p < processes; ++p) sum += value_of(p, sample, i);
    return sum;
  });
}

// Processes 0 and 1 have swapped and moved half way towards each other.
inline std::uint64_t wrong_means(std::span<const float> values, std::uint32_t sample) {
  return count_wrong(values, [&](std::size_t i) {
    return 0.5f * (value_of(0, sample, i) + value_of(1, sample, i));
  });
}

}  // namespace hearsay::runtime::net_workload
