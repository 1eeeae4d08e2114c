// SPDX-License-Identifier: Apache-2.0
// Inputs of benches: normal values with outliers, and sparse records with ascending random ids.
// Both are fast enough for 1e9 values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/ops/select_math.hpp"

namespace hearsay::kernels {

inline void fill_random(std::span<float> values, std::uint64_t seed, std::string_view purpose) {
  constexpr std::size_t kPeriod = 1 << 22;  // drawing more takes longer than the bench
  Rng rng = Rng::stream(seed, purpose);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i < kPeriod
                    ? static_cast<float>(rng.normal()) * (rng.below(1000) == 0 ? 20.0f : 1.0f)
                    : -values[i - kPeriod + i % 7];
  }
}

struct RandomRecord {
  std::vector<std::uint32_t> id;
  std::vector<float> value;  // `block` an id
  std::vector<std::uint64_t> tile_begin;
};

// About n / one_in ids below n; gaps are uniform.
inline RandomRecord random_record(std::size_t n, std::uint32_t one_in, std::size_t block,
                                  std::uint64_t seed) {
  RandomRecord record;
  Rng rng = Rng::stream(seed, "ids");
  record.id.reserve(n / one_in + n / one_in / 8 + 16);
  for (std::size_t i = rng.below(2 * one_in - 1); i < n; i += 1 + rng.below(2 * one_in - 1)) {
    record.id.push_back(static_cast<std::uint32_t>(i));
  }
  record.value.resize(record.id.size() * block);
  fill_random(record.value, seed, "values");
  record.tile_begin.resize((n + kSelectWireTile - 1) / kSelectWireTile + 1);
  for (const std::uint32_t i : record.id) ++record.tile_begin[i / kSelectWireTile + 1];
  for (std::size_t t = 1; t < record.tile_begin.size(); ++t) {
    record.tile_begin[t] += record.tile_begin[t - 1];
  }
  return record;
}

// Aligned runs of `per_line` ids that at least one record touches.
inline double lines_touched(std::span<const RandomRecord> records, std::size_t n,
                            std::size_t per_line) {
  std::vector<bool> is_touched(n / per_line + 1);
  for (const RandomRecord& record : records) {
    for (const std::uint32_t i : record.id) is_touched[i / per_line] = true;
  }
  std::size_t count = 0;
  for (const bool each : is_touched) count += each;
  return static_cast<double>(count);
}

}  // namespace hearsay::kernels
