// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/sparse_ops.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

class Turns final : public Workers {  // parts one after the other, the last first
 public:
  explicit Turns(std::size_t count) : count_(count) {}
  std::size_t count() const override { return count_; }
  void run(const std::function<void(std::size_t)>& body) override {
    for (std::size_t part = count_; part-- > 0;) body(part);
  }

 private:
  std::size_t count_;
};

std::vector<float> random_values(std::size_t n, const char* purpose) {
  Rng rng = Rng::stream(9, purpose);
  std::vector<float> values(n);
  for (float& v : values)
    v = static_cast<float>(rng.normal()) * (rng.below(50) == 0 ? 1e3f : 1.0f);  // outliers
  return values;
}

std::vector<std::uint32_t> random_indices(std::size_t n, std::uint32_t one_in,
                                          const char* purpose) {
  Rng rng = Rng::stream(10, purpose);
  std::vector<std::uint32_t> index;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (rng.below(one_in) == 0) index.push_back(i);
  }
  return index;
}

std::vector<std::uint64_t> tile_begins(const std::vector<std::uint32_t>& index, std::size_t n) {
  std::vector<std::uint64_t> begin((n + 65'535) / 65'536 + 1);
  for (const std::uint32_t i : index) ++begin[i / 65'536 + 1];
  for (std::size_t t = 1; t < begin.size(); ++t) begin[t] += begin[t - 1];
  return begin;
}

// One entry, written again: three roundings kept apart by volatile.
struct Expected {
  float w, u;
};
Expected expected_move(SparseKind kind, float alpha, float w, float x) {
  volatile float difference = x;
  if (kind == SparseKind::kAbsolute) difference = x - w;
  const volatile float u = alpha * difference;
  volatile float moved = w + u;
  if (kind == SparseKind::kAbsolute && alpha == 1.0f) moved = x;
  if (!std::isfinite(u) || !std::isfinite(moved)) return {w, kInf};
  return {moved, u};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("indices must ascend strictly and stay below the size") {
  for (const std::size_t count : {0u, 1u, 2u, 4095u, 4096u, 4097u, 10'000u}) {
    std::vector<std::uint32_t> index(count);
    for (std::uint32_t i = 0; i < count; ++i) index[i] = 3 * i + 1;
    const std::size_t n = 3 * count;
    CHECK(are_ascending(index, n));
    if (count > 0) CHECK(!are_ascending(index, index.back()));
    for (const std::size_t at : {std::size_t{1}, std::size_t{4095}, std::size_t{4096}, count - 1}) {
      if (count < 2 || at >= count) continue;
      auto equal = index;
      equal[at] = equal[at - 1];
      CHECK(!are_ascending(equal, n));
      auto swapped = index;
      std::swap(swapped[at], swapped[at - 1]);
      CHECK(!are_ascending(swapped, n));
    }
  }
  const std::vector<std::uint32_t> top{0, 0x7fffffffu, 0x80000000u, 0xfffffffeu};
  CHECK(are_ascending(top, 0xffffffffu));
}

TEST_CASE("a sparse update moves its entries alone, whatever the threads") {
  const std::size_t n = GENERATE(1u, 31u, 4097u, 65'537u, 500'003u);
  const std::uint32_t one_in = GENERATE(1u, 3u, 100u);
  const float alpha = GENERATE(0.0f, 0.3f, 1.0f);
  const SparseKind kind = GENERATE(SparseKind::kDelta, SparseKind::kAbsolute);
  CAPTURE(n, one_in, alpha, static_cast<int>(kind));
  const auto start = random_values(n, "w");
  const auto index = random_indices(n, one_in, "i");
  auto value = random_values(index.size(), "v");
  for (std::size_t j = 5; j < value.size(); j += 97) value[j] = j % 2 == 0 ? kInf : -NAN;
  if (value.size() > 3) value[3] = -std::numeric_limits<float>::max();
  auto expected = start;
  long double sum = 0;
  float max = 0;
  std::uint64_t bad = 0;
  for (std::size_t j = 0; j < index.size() && alpha != 0.0f; ++j) {
    const Expected e = expected_move(kind, alpha, start[index[j]], value[j]);
    expected[index[j]] = e.w;
    bad += !std::isfinite(e.u);
    if (!std::isfinite(e.u)) continue;
    sum += static_cast<long double>(e.u) * static_cast<long double>(e.u);
    max = std::max(max, std::fabs(e.u));
  }
  SparseStats first;
  for (const std::size_t threads : {1u, 2u, 5u}) {
    auto w = start;
    Turns workers(threads);
    const SparseStats stats = sparse_ema(workers, w, index, value, kind, alpha);
    REQUIRE(same_bits(w, expected));
    REQUIRE(stats.bad == bad);
    REQUIRE(stats.update_max == max);
    REQUIRE(std::fabs(stats.update_sq - static_cast<double>(sum)) <=
            1e-12 * static_cast<double>(sum));
    if (threads == 1) first = stats;
    REQUIRE(std::memcmp(&stats.update_sq, &first.update_sq, sizeof(double)) == 0);
  }
}

TEST_CASE("blocks move as their entries would one by one") {
  const std::size_t n = GENERATE(5u, 64u, 4100u, 200'003u);
  const std::size_t block = GENERATE(8u, 16u, 32u);
  const SparseKind kind = GENERATE(SparseKind::kDelta, SparseKind::kAbsolute);
  CAPTURE(n, block, static_cast<int>(kind));
  const auto start = random_values(n, "w");
  const auto ids = random_indices((n + block - 1) / block, 3, "b");
  auto value = random_values(ids.size() * block, "v");
  std::vector<std::uint32_t> index;
  std::vector<float> inside;
  for (std::size_t b = 0; b < ids.size(); ++b) {
    for (std::size_t i = 0; i < block; ++i) {
      if (ids[b] * block + i >= n) {
        value[b * block + i] = kInf;  // must be ignored
        continue;
      }
      index.push_back(static_cast<std::uint32_t>(ids[b] * block + i));
      inside.push_back(value[b * block + i]);
    }
  }
  auto w = start, expected = start;
  Turns workers(3);
  const SparseStats got = sparse_ema_blocks(workers, w, ids, value, block, kind, 0.3f);
  const SparseStats one_by_one = sparse_ema(workers, expected, index, inside, kind, 0.3f);
  CHECK(same_bits(w, expected));
  CHECK(got.update_sq == one_by_one.update_sq);  // only the last block may be cut
  CHECK(got.update_max == one_by_one.update_max);
  CHECK(got.bad == 0);
}

TEST_CASE("lists are added in their order and applied once") {
  const std::size_t n = GENERATE(1u, 4096u, 70'001u, 200'000u);
  const std::size_t count = GENERATE(1u, 2u, 9u);
  const MergeNorm norm = GENERATE(MergeNorm::kNone, MergeNorm::kPresentWeight);
  const SparseKind kind = GENERATE(SparseKind::kDelta, SparseKind::kAbsolute);
  CAPTURE(n, count, static_cast<int>(norm), static_cast<int>(kind));
  const auto start = random_values(n, "w");
  std::vector<std::vector<std::uint32_t>> index;
  std::vector<std::vector<float>> value;
  std::vector<std::vector<std::uint64_t>> begins;
  std::vector<SparseList> lists;
  for (std::size_t s = 0; s < count; ++s) {
    const std::string name = "list" + std::to_string(s);
    index.push_back(random_indices(n, s == 1 ? 1 : 7, name.c_str()));
    value.push_back(random_values(index[s].size(), name.c_str()));
    if (value[s].size() > 2) value[s][2] = NAN;
    begins.push_back(tile_begins(index[s], n));
  }
  for (std::size_t s = 0; s < count; ++s) {
    lists.push_back({index[s], value[s], begins[s], 0.1f + static_cast<float>(s)});
  }
  std::vector<float> sum(n), weight(n);
  std::vector<char> is_there(n);
  std::uint64_t bad = 0;
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t j = 0; j < index[s].size(); ++j) {
      const std::uint32_t i = index[s][j];
      const volatile float x = lists[s].weight * value[s][j];
      bad += !std::isfinite(x);
      if (!std::isfinite(x)) continue;
      const volatile float added = sum[i] + x, more = weight[i] + lists[s].weight;
      sum[i] = is_there[i] ? added : x;
      weight[i] = is_there[i] ? more : lists[s].weight;
      is_there[i] = 1;
    }
  }
  auto expected = start;
  std::uint64_t touched = 0;
  long double square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_there[i]) continue;
    const float x = norm == MergeNorm::kNone ? sum[i] : sum[i] / weight[i];
    const Expected e = expected_move(kind, 0.3f, start[i], x);
    expected[i] = e.w;
    square += static_cast<long double>(e.u) * static_cast<long double>(e.u);
    ++touched;
  }
  double first = 0;
  for (const std::size_t threads : {1u, 2u}) {
    auto w = start;
    Turns workers(threads);
    const MergeTotals totals = merge_lists(workers, w, lists, norm, kind, 0.3f);
    REQUIRE(same_bits(w, expected));
    REQUIRE(totals.touched == touched);
    REQUIRE(totals.stats.bad == bad);
    REQUIRE(std::fabs(totals.stats.update_sq - static_cast<double>(square)) <=
            1e-12 * static_cast<double>(square));
    if (threads == 1) first = totals.stats.update_sq;
    REQUIRE(totals.stats.update_sq == first);
  }
}
