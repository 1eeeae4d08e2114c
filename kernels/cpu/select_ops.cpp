// SPDX-License-Identifier: Apache-2.0
// One dense pass collects candidates above a guarded guess in order; the exact threshold is
// searched among those in the guard band alone; a short pass writes the entries. Flags are bytes,
// so that the compiler vectorises the compare and a 64-bit word holds eight of them.
#include "kernels/ops/select_ops.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/core/check.hpp"
#include "kernels/cpu/clones.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kStrata = 16'384;  // sectors of a sample for a threshold
constexpr std::size_t kGuessStrata =
    4096;                                 // for a guarded guess: each costs a cache and a TLB miss
constexpr std::size_t kPlain = 1u << 16;  // up to here every value that is not zero is a candidate
constexpr std::uint32_t kKeyBits = 0x7fffffffu;

std::uint32_t key_of(float u) { return std::bit_cast<std::uint32_t>(u) & kKeyBits; }

HS_CLONES void subtract(std::size_t n, const float* __restrict w, const float* __restrict published,
                        float* __restrict u) {
  for (std::size_t i = 0; i < n; ++i) u[i] = w[i] - published[i];
}

HS_CLONES void subtract(std::size_t n, const Bf16* __restrict w, const Bf16* __restrict published,
                        float* __restrict u) {
  for (std::size_t i = 0; i < n; ++i) u[i] = widen(w[i]) - widen(published[i]);
}

HS_CLONES void widen_all(std::size_t n, const Bf16* __restrict w, float* __restrict u) {
  for (std::size_t i = 0; i < n; ++i) u[i] = widen(w[i]);
}

// flag[i] = is the key in [lo, not finite); returns how many are not finite. n <= kBlock.
HS_CLONES std::uint32_t flag_block(std::size_t n, const float* __restrict u, std::int32_t lo,
                                   std::uint8_t* __restrict flag) {
  std::uint32_t bad = 0;
  std::int32_t bits[kBlock];
  std::memcpy(bits, u, n * sizeof(float));
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t key = bits[i] & static_cast<std::int32_t>(kKeyBits);
    const std::int32_t not_finite = key >= static_cast<std::int32_t>(kSelectNotFinite);
    bad += static_cast<std::uint32_t>(not_finite);
    flag[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(key >= lo) & ~not_finite);
  }
  return bad;
}

// The differences of [begin, begin + n), in place or in `buffer`.
template <typename T>
const float* differences(const SelectFromArrays<T>& from, std::size_t begin, std::size_t n,
                         float* buffer) {
  if (!from.published.empty()) {
    subtract(n, from.w.data() + begin, from.published.data() + begin, buffer);
  } else if constexpr (std::is_same_v<T, float>) {
    return from.w.data() + begin;
  } else {
    widen_all(n, from.w.data() + begin, buffer);
  }
  return buffer;
}

struct Candidates {
  std::vector<std::uint32_t> index;
  std::vector<float> value;
  std::size_t count = 0;
  std::uint64_t bad = 0;
  std::uint64_t certain = 0;            // keys >= Guard::hi
  std::uint64_t above = 0, at_tau = 0;  // once tau is known
};

struct Guard {
  std::uint32_t lo = 1, hi = kSelectNotFinite;
};

template <typename T>
void collect(const SelectFromArrays<T>& from, Guard guard, std::size_t begin, std::size_t end,
             Candidates& into) {
  alignas(64) float buffer[kBlock];
  alignas(64) std::uint8_t flag[kBlock];
  for (std::size_t at = begin; at < end; at += kBlock) {
    const std::size_t n = std::min(kBlock, end - at);
    const float* u = differences(from, at, n, buffer);
    into.bad += flag_block(n, u, static_cast<std::int32_t>(guard.lo), flag);
    std::memset(flag + n, 0, kBlock - n);
    if (into.index.size() < into.count + kBlock) {
      into.index.resize(2 * into.index.size() + kBlock);
      into.value.resize(into.index.size());
    }
    std::uint32_t* index = into.index.data();
    float* value = into.value.data();
    std::size_t count = into.count, certain = 0;
    for (std::size_t i = 0; i < n; i += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, flag + i, sizeof eight);
      for (; eight != 0; eight &= eight - 1) {
        const std::size_t j = i + static_cast<std::size_t>(std::countr_zero(eight)) / 8;
        index[count] = static_cast<std::uint32_t>(at + j);
        value[count] = u[j];
        certain += key_of(u[j]) >= guard.hi;
        ++count;
      }
    }
    into.count = count;
    into.certain += certain;
  }
}

// Lower edge of the bin that holds rank `rank` from above (1 = the largest); 1 when there are
// fewer.
std::uint32_t edge_at_rank(std::span<const std::uint64_t> bins, std::uint64_t rank) {
  std::uint64_t seen = 0;
  for (std::size_t b = bins.size(); b-- > 0;) {
    seen += bins[b];
    if (seen >= rank)
      return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(b) << kSelectSampleShift);
  }
  return 1;
}

void count_key(std::uint32_t key, std::span<std::uint64_t> bins) {
  if (key != 0 && key < kSelectNotFinite) ++bins[key >> kSelectSampleShift];
}

template <typename T>
std::vector<std::uint64_t> sample_bins(const SelectFromArrays<T>& from, std::size_t strata) {
  std::vector<std::uint64_t> bins(kSelectSampleBins);
  std::vector<std::size_t> first(strata);
  for (std::size_t s = 0; s < strata; ++s) first[s] = sample_begin(from.w.size(), strata, s);
  constexpr std::size_t kAhead = 32;  // sectors on their way while one is counted
  for (std::size_t s = 0; s < strata; ++s) {
    const std::size_t next = first[std::min(s + kAhead, strata - 1)];
    __builtin_prefetch(from.w.data() + next);
    if (!from.published.empty()) __builtin_prefetch(from.published.data() + next);
    float buffer[kSelectSector];
    const float* u = differences(from, first[s], kSelectSector, buffer);
    for (std::size_t i = 0; i < kSelectSector; ++i) count_key(key_of(u[i]), bins);
  }
  return bins;
}

template <typename T>
Guard guess(const SelectFromArrays<T>& from, std::size_t k, std::uint32_t prior) {
  const std::size_t n = from.w.size();
  if (prior != 0) {  // a sixteenth of an octave to each side, or so
    constexpr std::uint32_t kSlack = 1u << 19;
    prior = std::min(prior, kSelectNotFinite);
    return {prior > kSlack ? prior - kSlack : 1, std::min(prior + kSlack, kSelectNotFinite)};
  }
  if (n <= kPlain || k >= n) return {};
  const std::size_t strata = std::min(kGuessStrata, n / kSelectSector);
  const auto bins = sample_bins(from, strata);
  const GuardRanks ranks = guard_ranks(n, k, strata * kSelectSector);
  Guard guard{edge_at_rank(bins, ranks.candidate)};
  if (ranks.certain > 0) {
    guard.hi = edge_at_rank(bins, ranks.certain) + (1u << kSelectSampleShift);
  }
  return guard;
}

// Exact: lower edge of the bin of the k-th largest of all.
template <typename T>
Guard counted_guard(Workers& workers, const SelectFromArrays<T>& from, std::size_t k) {
  std::vector<std::vector<std::uint64_t>> bins(workers.count());
  for_tiles(workers, from.w.size(), kSelectWireTile,
            [&](std::size_t begin, std::size_t end, std::size_t part) {
              bins[part].resize(kSelectSampleBins);
              float buffer[kBlock];
              for (std::size_t at = begin; at < end; at += kBlock) {
                const std::size_t n = std::min(kBlock, end - at);
                const float* u = differences(from, at, n, buffer);
                for (std::size_t i = 0; i < n; ++i) count_key(key_of(u[i]), bins[part]);
              }
            });
  std::vector<std::uint64_t> all(kSelectSampleBins);
  for (const auto& each : bins) {
    for (std::size_t b = 0; b < each.size(); ++b) all[b] += each[b];
  }
  return {edge_at_rank(all, k)};
}

template <typename T>
std::vector<Candidates> collect_all(Workers& workers, const SelectFromArrays<T>& from,
                                    Guard guard) {
  std::vector<Candidates> parts(workers.count());
  for_tiles(workers, from.w.size(), kSelectWireTile,
            [&](std::size_t begin, std::size_t end, std::size_t part) {
              collect(from, guard, begin, end, parts[part]);
            });
  return parts;
}

// Key of the k-th largest candidate; k >= 1 and at most the number of candidates.
std::uint32_t kth_key(const std::vector<Candidates>& parts, Guard guard, std::uint64_t k) {
  std::uint64_t certain = 0;
  for (const Candidates& part : parts) certain += part.certain;
  const bool is_in_band = certain < k;
  std::vector<std::uint32_t> keys;
  for (const Candidates& part : parts) {
    for (std::size_t j = 0; j < part.count; ++j) {
      const std::uint32_t key = key_of(part.value[j]);
      if (!is_in_band || key < guard.hi) keys.push_back(key);
    }
  }
  const auto nth = keys.begin() + static_cast<std::ptrdiff_t>(is_in_band ? k - certain - 1 : k - 1);
  std::nth_element(keys.begin(), nth, keys.end(), std::greater<>());
  return *nth;
}

struct Cut {
  std::uint32_t tau = 1;  // entries: keys > tau and the first `ties` keys == tau
  std::uint64_t ties = 0;
};

struct Position {
  std::uint64_t above = 0, at_tau = 0;  // entries before
};

template <typename T>
void emit(const SelectFromArrays<T>& from, const Candidates& part, Cut cut, Position before,
          std::size_t begin, std::size_t end, const SelectOut& out) {
  const std::uint64_t capacity = out.index.size();
  std::uint64_t to = before.above + std::min(before.at_tau, cut.ties), at_tau = before.at_tau;
  std::size_t tile = begin / kSelectWireTile;
  out.tile_begin[tile] = std::min(to, capacity);
  for (std::size_t j = 0; j < part.count; ++j) {
    const float u = part.value[j];
    const std::uint32_t key = key_of(u), i = part.index[j];
    if (key < cut.tau || (key == cut.tau && at_tau++ >= cut.ties)) continue;
    for (; tile < i / kSelectWireTile; ++tile) out.tile_begin[tile + 1] = std::min(to, capacity);
    if (to < capacity) {
      out.index[to] = i;
      out.value[to] = u;
      if (!from.published.empty()) {
        const float w = widen(from.w[i]), published = widen(from.published[i]);
        if (from.kind == PublishKind::kAbsolute) out.value[to] = w;
        from.published[i] = stored_as(published_after(from.kind, w, published, u), T{});
      } else if (from.is_cleared) {
        from.w[i] = T{};
      }
    }
    ++to;
  }
  const std::size_t last = (end - 1) / kSelectWireTile;
  for (; tile < last; ++tile) out.tile_begin[tile + 1] = std::min(to, capacity);
}

void count_cut(Candidates& part, std::uint32_t tau) {
  for (std::size_t j = 0; j < part.count; ++j) {
    const std::uint32_t key = key_of(part.value[j]);
    part.above += key > tau;
    part.at_tau += key == tau;
  }
}

// Writes the `found` largest candidates, of which the smallest has the key tau.
template <typename T>
void emit_all(Workers& workers, const SelectFromArrays<T>& from, std::vector<Candidates>& parts,
              std::uint32_t tau, std::uint64_t found, const SelectOut& out) {
  workers.run([&](std::size_t part) { count_cut(parts[part], tau); });
  std::vector<Position> before(parts.size() + 1);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    before[p + 1] = {before[p].above + parts[p].above, before[p].at_tau + parts[p].at_tau};
  }
  const Cut cut{tau, found - before.back().above};
  for_tiles(workers, from.w.size(), kSelectWireTile,
            [&](std::size_t begin, std::size_t end, std::size_t part) {
              emit(from, parts[part], cut, before[part], begin, end, out);
            });
  out.tile_begin.back() = std::min<std::uint64_t>(found, out.index.size());
}

template <typename T>
void check_shapes(const SelectFromArrays<T>& from, const SelectOut& out) {
  HS_CHECK(from.w.size() <= 0xffffffffu);
  HS_CHECK(from.published.empty() || from.published.size() == from.w.size());
  HS_CHECK(out.value.size() == out.index.size());
  HS_CHECK(out.tile_begin.size() == (from.w.size() + kSelectWireTile - 1) / kSelectWireTile + 1);
}

std::uint64_t candidates_in(const std::vector<Candidates>& parts) {
  std::uint64_t count = 0;
  for (const Candidates& part : parts) count += part.count;
  return count;
}

template <typename T>
Selected largest(Workers& workers, const SelectFromArrays<T>& from, std::size_t k,
                 std::uint32_t prior, const SelectOut& out) {
  check_shapes(from, out);
  HS_CHECK(out.index.size() >= std::min(k, from.w.size()));
  Selected selected;
  // With k = 0 nothing is a candidate, but the pass still counts what is not finite.
  Guard guard = k == 0 ? Guard{kSelectNotFinite, kSelectNotFinite} : guess(from, k, prior);
  auto parts = collect_all(workers, from, guard);
  if (candidates_in(parts) < k && guard.lo > 1) {
    selected.is_repaired = true;
    guard = counted_guard(workers, from, k);
    parts = collect_all(workers, from, guard);
  }
  for (const Candidates& part : parts) selected.bad += part.bad;
  selected.count = std::min<std::uint64_t>(k, candidates_in(parts));
  if (selected.count > 0) selected.tau_key = kth_key(parts, guard, selected.count);
  const std::uint32_t tau = selected.count > 0 ? selected.tau_key : kSelectNotFinite;
  emit_all(workers, from, parts, tau, selected.count, out);
  return selected;
}

template <typename T>
Selected above(Workers& workers, const SelectFromArrays<T>& from, float tau, const SelectOut& out) {
  check_shapes(from, out);
  HS_CHECK(tau > 0.0f && tau <= FLT_MAX);
  Selected selected;
  selected.tau_key = key_of(tau);
  auto parts = collect_all(workers, from, {selected.tau_key, kSelectNotFinite});
  for (const Candidates& part : parts) selected.bad += part.bad;
  selected.count = candidates_in(parts);
  emit_all(workers, from, parts, selected.tau_key, selected.count, out);
  return selected;
}

template <typename T>
float threshold_of_sample(const SelectFromArrays<T>& from, std::size_t k) {
  const std::size_t n = from.w.size(), strata = std::min(kStrata, n / kSelectSector);
  if (strata == 0 || k >= n) return std::bit_cast<float>(1u);
  const auto bins = sample_bins(from, strata);
  const double rank =
      static_cast<double>(k) * static_cast<double>(strata * kSelectSector) / static_cast<double>(n);
  return std::bit_cast<float>(
      edge_at_rank(bins, std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rank))));
}

}  // namespace

Selected select_largest(Workers& workers, const SelectFrom& from, std::size_t k,
                        std::uint32_t prior, const SelectOut& out) {
  return largest(workers, from, k, prior, out);
}
Selected select_largest(Workers& workers, const SelectFromBf16& from, std::size_t k,
                        std::uint32_t prior, const SelectOut& out) {
  return largest(workers, from, k, prior, out);
}

Selected select_above(Workers& workers, const SelectFrom& from, float tau, const SelectOut& out) {
  return above(workers, from, tau, out);
}
Selected select_above(Workers& workers, const SelectFromBf16& from, float tau,
                      const SelectOut& out) {
  return above(workers, from, tau, out);
}

float sampled_threshold(const SelectFrom& from, std::size_t k) {
  return threshold_of_sample(from, k);
}
float sampled_threshold(const SelectFromBf16& from, std::size_t k) {
  return threshold_of_sample(from, k);
}

NextThreshold next_threshold(float tau, std::uint64_t count, std::uint64_t k, double gain) {
  if (!(tau > 0.0f) || tau > FLT_MAX || count > 2 * k || 2 * count < k) return {tau, true};
  if (count == k) return {tau, false};
  const double ratio = static_cast<double>(count) / static_cast<double>(k);
  const double next = static_cast<double>(tau) * std::exp(gain * std::log(ratio));
  const double least = static_cast<double>(std::bit_cast<float>(1u));
  return {static_cast<float>(std::clamp(next, least, static_cast<double>(FLT_MAX))), false};
}

}  // namespace hearsay::kernels
