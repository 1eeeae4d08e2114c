// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/sparse_ops.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/sparse_api.h"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> random_values(std::size_t n, const std::string& purpose) {
  Rng rng = Rng::stream(9, purpose);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(rng.normal()) * (rng.below(50) == 0 ? 1e3f : 1.0f);
  return values;
}

std::vector<std::uint32_t> random_indices(std::size_t n, std::uint32_t one_in,
                                          const std::string& purpose) {
  Rng rng = Rng::stream(10, purpose);
  std::vector<std::uint32_t> index;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (rng.below(one_in) == 0) index.push_back(i);
  }
  return index;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void check_stats(const DeviceArray<HsCudaSparseStats>& d_stats, const SparseStats& expected,
                 std::uint64_t touched) {
  const HsCudaSparseStats got = d_stats.host()[0];
  CHECK(std::memcmp(&got.update_sq, &expected.update_sq, sizeof(double)) == 0);
  CHECK(got.update_max == expected.update_max);
  CHECK(got.bad == expected.bad);
  CHECK(got.touched == touched);
  CHECK(d_stats.guards_hold());
}

}  // namespace

TEST_CASE("disorder is found wherever it is") {
  const std::size_t count = GENERATE(0u, 1u, 2u, 255u, 256u, 257u, 1'000'003u);
  std::vector<std::uint32_t> index(count);
  for (std::uint32_t i = 0; i < count; ++i) index[i] = 3 * i + 1;
  const DeviceArray<std::uint32_t> disorder(1);
  const auto is_ascending = [&](const std::vector<std::uint32_t>& of, std::size_t n) {
    const DeviceArray<std::uint32_t> d_index(of);
    must(hs_cuda_are_ascending(d_index.data(), of.size(), n, disorder.data(), nullptr),
         "ascending");
    return disorder.host()[0] == 0;
  };
  CHECK(is_ascending(index, 3 * count));
  if (count == 0) return;
  CHECK(!is_ascending(index, index.back()));
  for (const std::size_t at : {std::size_t{1}, count / 2, count - 1}) {
    if (at == 0 || at >= count) continue;
    auto equal = index;
    equal[at] = equal[at - 1];
    CHECK(!is_ascending(equal, 3 * count));
  }
}

TEST_CASE("sparse updates agree with the CPU bit for bit, sums too") {
  const std::size_t n = GENERATE(1u, 31u, 4097u, 65'537u, 1'000'003u);
  const std::uint32_t one_in = GENERATE(1u, 3u, 100u);
  const float alpha = GENERATE(0.0f, 0.3f, 1.0f);
  const SparseKind kind = GENERATE(SparseKind::kDelta, SparseKind::kAbsolute);
  CAPTURE(n, one_in, alpha, static_cast<int>(kind));
  auto w = random_values(n, "w");
  const auto index = random_indices(n, one_in, "i");
  auto value = random_values(index.size(), "v");
  for (std::size_t j = 5; j < value.size(); j += 97) value[j] = j % 2 == 0 ? kInf : -NAN;
  if (value.size() > 3) value[3] = -std::numeric_limits<float>::max();
  const std::size_t shift = n % 4, bytes = hs_cuda_sparse_workspace(index.size());
  const DeviceArray<float> d_w(w, shift), d_value(value, shift);
  const DeviceArray<std::uint32_t> d_index(index, shift);
  const DeviceArray<double> workspace((bytes + 7) / 8);
  const DeviceArray<HsCudaSparseStats> d_stats(1);
  must(hs_cuda_sparse_ema(d_w.data(), n, d_index.data(), d_value.data(), index.size(),
                          static_cast<int>(kind), alpha, workspace.data(), bytes, d_stats.data(),
                          nullptr),
       "sparse ema");
  OneWorker one;
  const SparseStats stats = sparse_ema(one, w, index, value, kind, alpha);
  CHECK(same_bits(d_w.host(), w));
  check_stats(d_stats, stats, 0);
  CHECK((d_w.guards_hold() && workspace.guards_hold()));
}

TEST_CASE("updates of blocks agree with the CPU bit for bit") {
  const std::size_t n = GENERATE(5u, 64u, 4100u, 500'003u);
  const std::size_t block = GENERATE(8u, 16u, 32u);
  const SparseKind kind = GENERATE(SparseKind::kDelta, SparseKind::kAbsolute);
  CAPTURE(n, block, static_cast<int>(kind));
  auto w = random_values(n, "w");
  const auto ids = random_indices((n + block - 1) / block, 3, "b");
  auto value = random_values(ids.size() * block, "v");
  for (std::size_t j = 5; j < value.size(); j += 97) value[j] = kInf;
  const std::size_t bytes = hs_cuda_sparse_workspace(value.size());
  const DeviceArray<float> d_w(w), d_value(value);
  const DeviceArray<std::uint32_t> d_ids(ids);
  const DeviceArray<double> workspace((bytes + 7) / 8);
  const DeviceArray<HsCudaSparseStats> d_stats(1);
  must(hs_cuda_sparse_ema_blocks(d_w.data(), n, d_ids.data(), d_value.data(), ids.size(), block,
                                 static_cast<int>(kind), 0.3f, workspace.data(), bytes,
                                 d_stats.data(), nullptr),
       "sparse ema blocks");
  OneWorker one;
  const SparseStats stats = sparse_ema_blocks(one, w, ids, value, block, kind, 0.3f);
  CHECK(same_bits(d_w.host(), w));
  check_stats(d_stats, stats, 0);
  CHECK((d_w.guards_hold() && workspace.guards_hold()));
}

TEST_CASE("merges of lists agree with the CPU bit for bit") {
  const std::size_t n = GENERATE(1u, 4096u, 70'001u, 400'000u);
  const std::size_t count = GENERATE(0u, 1u, 2u, 8u, 9u, 32u);
  const MergeNorm norm = GENERATE(MergeNorm::kNone, MergeNorm::kPresentWeight);
  const SparseKind kind = GENERATE(SparseKind::kDelta, SparseKind::kAbsolute);
  CAPTURE(n, count, static_cast<int>(norm), static_cast<int>(kind));
  auto w = random_values(n, "w");
  std::vector<std::vector<std::uint32_t>> index(count);
  std::vector<std::vector<float>> value(count);
  std::vector<std::vector<std::uint64_t>> begin(count);
  std::vector<SparseList> lists(count);
  std::vector<HsCudaSparseList> d_lists(count);
  std::vector<std::unique_ptr<DeviceArray<std::uint32_t>>> d_index(count);
  std::vector<std::unique_ptr<DeviceArray<float>>> d_value(count);
  std::vector<std::unique_ptr<DeviceArray<std::uint64_t>>> d_begin(count);
  for (std::size_t s = 0; s < count; ++s) {
    const std::string name = "list" + std::to_string(s);
    index[s] = random_indices(n, s == 1 ? 1 : 7, name);
    value[s] = random_values(index[s].size(), name);
    if (value[s].size() > 2) value[s][2] = NAN;
    begin[s].resize((n + 65'535) / 65'536 + 1);
    for (const std::uint32_t i : index[s]) ++begin[s][i / 65'536 + 1];
    for (std::size_t t = 1; t < begin[s].size(); ++t) begin[s][t] += begin[s][t - 1];
    const float weight = 0.1f + static_cast<float>(s);
    lists[s] = {index[s], value[s], begin[s], weight};
    d_index[s] = std::make_unique<DeviceArray<std::uint32_t>>(index[s]);
    d_value[s] = std::make_unique<DeviceArray<float>>(value[s]);
    d_begin[s] = std::make_unique<DeviceArray<std::uint64_t>>(begin[s]);
    d_lists[s] = {d_index[s]->data(), d_value[s]->data(), d_begin[s]->data(), weight};
  }
  const std::size_t bytes = hs_cuda_sparse_workspace(n);
  const DeviceArray<float> d_w(w, n % 4);
  const DeviceArray<double> workspace((bytes + 7) / 8);
  const DeviceArray<HsCudaSparseStats> d_stats(1);
  must(hs_cuda_merge_lists(d_w.data(), n, d_lists.data(), count, static_cast<int>(norm),
                           static_cast<int>(kind), 0.3f, workspace.data(), bytes, d_stats.data(),
                           nullptr),
       "merge lists");
  OneWorker one;
  const MergeTotals totals = merge_lists(one, w, lists, norm, kind, 0.3f);
  CHECK(same_bits(d_w.host(), w));
  check_stats(d_stats, totals.stats, totals.touched);
  CHECK((d_w.guards_hold() && workspace.guards_hold()));
}

TEST_CASE("what cannot be is refused") {
  const DeviceArray<double> workspace(64);
  const DeviceArray<HsCudaSparseStats> stats(1);
  const std::vector<HsCudaSparseList> lists(33);
  const auto blocks = [&](std::size_t block, std::size_t bytes) {
    return hs_cuda_sparse_ema_blocks(nullptr, 64, nullptr, nullptr, 1, block, 0, 0.5f,
                                     workspace.data(), bytes, stats.data(), nullptr);
  };
  CHECK(blocks(12, 512) == cudaErrorInvalidValue);
  CHECK(blocks(16, 8) == cudaErrorInvalidValue);
  CHECK(hs_cuda_merge_lists(nullptr, 64, lists.data(), 33, 0, 0, 0.5f, workspace.data(), 512,
                            stats.data(), nullptr) == cudaErrorInvalidValue);
}
