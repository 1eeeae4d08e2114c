// SPDX-License-Identifier: Apache-2.0
// Arrays of more than 2^31 values: no index may be kept in 32 bits with a sign. Skipped where the
// GPU has not enough memory.
#include <cstring>
#include <span>
#include <vector>

#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/ema_api.h"
#include "kernels/cuda/select_api.h"
#include "kernels/cuda/sparse_api.h"
#include "kernels/cuda/vector_api.h"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

constexpr std::size_t kMany = (std::size_t{1} << 31) + 70'001;

// Device memory of one value throughout (its bytes are all equal), without guards.
class Large {
 public:
  explicit Large(int byte) {
    must(cudaMalloc(&memory_, kMany * sizeof(float)), "cudaMalloc");
    must(cudaMemset(memory_, byte, kMany * sizeof(float)), "cudaMemset");
  }
  ~Large() { cudaFree(memory_); }
  Large(const Large&) = delete;
  Large& operator=(const Large&) = delete;
  float* data() const { return static_cast<float*>(memory_); }
  void put(std::size_t at, float x) {
    must(cudaMemcpy(data() + at, &x, sizeof x, cudaMemcpyHostToDevice), "to GPU");
  }
  float get(std::size_t at) const {
    float x = 0.0f;
    must(cudaMemcpy(&x, data() + at, sizeof x, cudaMemcpyDeviceToHost), "from GPU");
    return x;
  }

 private:
  void* memory_ = nullptr;
};

// False, with a line, where the GPU has not room for so many arrays and what selects among them.
bool has_memory(std::size_t arrays) {
  std::size_t free = 0, all = 0;
  must(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  const bool is_enough = free > (arrays + 1) * kMany * sizeof(float);
  if (!is_enough) WARN("skipped: needs " << (arrays + 1) * kMany * sizeof(float) << " bytes");
  return is_enough;
}

const std::vector<std::size_t> kPlaces = {
    0,        4095, 1'000'000'007, (std::size_t{1} << 31) - 1, std::size_t{1} << 31, kMany - 4097,
    kMany - 1};

// A workspace whose header is zero, as the contracts want it.
DeviceArray<unsigned char> workspace(std::size_t bytes) {
  return DeviceArray<unsigned char>(std::vector<unsigned char>(bytes));
}

template <typename T>
T only(const DeviceArray<T>& array) {
  must(cudaDeviceSynchronize(), "kernels");
  return array.host().front();
}

}  // namespace

TEST_CASE("a merge of more than 2^31 weights reaches all of them") {
  if (!has_memory(3)) return;
  Large w(0), v(0);
  for (const std::size_t at : kPlaces) v.put(at, 2.0f);
  HsEmaSpan span{};
  span.d_w = w.data();
  span.d_v = v.data();
  span.n = kMany;
  span.alpha = 0.5f;
  const std::size_t tiles = hs_cuda_ema_tiles(&span, 1);
  const auto memory = workspace(hs_cuda_ema_workspace_bytes(tiles));
  const DeviceArray<HsEmaResult> result(1);
  const HsEmaRule rule{HS_FP32, HS_FP32, HS_STORE_NEAREST, 0, 0};
  must(hs_cuda_ema(&rule, &span, memory.data(), result.data(), nullptr), "ema");
  const HsEmaResult found = only(result);
  CHECK(found.update_sq == static_cast<double>(kPlaces.size()));
  CHECK(found.changed == kPlaces.size());
  CHECK(found.max_update == 1.0f);
  for (const std::size_t at : kPlaces) CHECK(w.get(at) == 1.0f);
  const auto sums = workspace(hs_cuda_sums_workspace_bytes(kMany));
  const DeviceArray<double> dot(1);
  must(hs_cuda_dot(w.data(), v.data(), kMany, sums.data(), dot.data(), nullptr), "dot");
  CHECK(only(dot) == 2.0 * static_cast<double>(kPlaces.size()));
}

TEST_CASE("selection among more than 2^31 differences, and the way back") {
  if (!has_memory(3)) return;
  Large w(0), published(0);
  for (std::size_t j = 0; j < kPlaces.size(); ++j) w.put(kPlaces[j], 1.0f + static_cast<float>(j));
  const std::size_t k = kPlaces.size();
  const HsCudaSelectFrom from{w.data(), published.data(), kMany, 1, 0, HS_SELECT_FP32};
  const DeviceArray<std::uint32_t> index(k);
  const DeviceArray<float> value(k);
  const DeviceArray<std::uint64_t> tile_begin((kMany + 65'535) / 65'536 + 1);
  const DeviceArray<HsCudaSelected> selected(1);
  const DeviceArray<unsigned char> memory(hs_cuda_select_workspace(kMany, k));
  const HsCudaSelectOut out{index.data(), value.data(), tile_begin.data(), k};
  must(hs_cuda_select_largest(&from, k, 0, &out, memory.data(), memory.size(), selected.data(),
                              nullptr),
       "select");
  REQUIRE(only(selected).count == k);
  for (std::size_t j = 0; j < k; ++j) {
    CHECK(index.host()[j] == kPlaces[j]);
    CHECK(published.get(kPlaces[j]) == 1.0f + static_cast<float>(j));
  }
  Large other(0);
  const DeviceArray<HsCudaSparseStats> stats(1);
  const DeviceArray<unsigned char> sums(hs_cuda_sparse_workspace(k));
  must(hs_cuda_sparse_ema(other.data(), kMany, index.data(), value.data(), k, 1, 0.5f, sums.data(),
                          sums.size(), stats.data(), nullptr),
       "sparse ema");
  CHECK(only(stats).update_max == static_cast<float>(k) / 2);
  for (std::size_t j = 0; j < k; ++j) {
    CHECK(other.get(kPlaces[j]) == 0.5f * (1.0f + static_cast<float>(j)));
  }
}
