// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/select_ops.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/select_api.h"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

std::vector<float> values_of(const std::string& kind, std::size_t n) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), 3.4e38f,
                                std::numeric_limits<float>::signaling_NaN()};
  Rng rng = Rng::stream(5, kind);
  std::vector<float> u(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float normal = static_cast<float>(rng.normal());
    if (kind == "normal") u[i] = rng.below(40) == 0 ? normal * 1e3f : normal;
    if (kind == "equal") u[i] = 0.5f;
    if (kind == "two") u[i] = rng.below(10) == 0 ? -2.0f : 0.25f;
    if (kind == "denormal")
      u[i] = std::bit_cast<float>(static_cast<std::uint32_t>(rng.below(2000)));
    if (kind == "zeros") u[i] = rng.below(3000) == 0 ? normal : (i % 2 == 0 ? 0.0f : -0.0f);
    if (kind == "hot end") u[i] = i + 9000 > n ? normal * 1e20f : normal * 1e-20f;
    if (kind == "special") u[i] = rng.below(20) == 0 ? kSpecial[rng.below(5)] : normal;
  }
  return u;
}

// What is kept in the type of the arrays.
std::vector<float> kept_in(const std::vector<float>& values, float) { return values; }
std::vector<Bf16> kept_in(const std::vector<float>& values, Bf16) {
  std::vector<Bf16> all(values.size());
  std::transform(values.begin(), values.end(), all.begin(),
                 [](float x) { return nearest(x, Bf16{}); });
  return all;
}

template <typename T>
struct Result {
  std::vector<std::uint32_t> index;
  std::vector<float> value;
  std::vector<std::uint64_t> tile_begin;
  std::vector<T> w, published;
  Selected selected;
};

struct Question {
  std::vector<float> w = {}, published = {};
  PublishKind kind = PublishKind::kDelta;
  bool is_cleared = false;
  std::size_t k = 0;  // of the largest; with tau the capacity
  std::uint32_t prior = 0;
  float tau = 0.0f;  // 0: the k largest
  std::size_t shift = 0;
};

constexpr std::uint32_t kOld = 0xa5a5a5a5u;

template <typename T>
Result<T> on_cpu(const Question& q) {
  const std::size_t n = q.w.size(), room = q.tau > 0 ? q.k : std::min(q.k, n);
  Result<T> r{std::vector<std::uint32_t>(room, kOld),
              std::vector<float>(room, std::bit_cast<float>(kOld)),
              std::vector<std::uint64_t>((n + 65'535) / 65'536 + 1),
              kept_in(q.w, T{}),
              kept_in(q.published, T{}),
              {}};
  const SelectFromArrays<T> from{r.w, r.published, q.kind, q.is_cleared};
  const SelectOut out{r.index, r.value, r.tile_begin};
  OneWorker one;
  r.selected = q.tau > 0 ? select_above(one, from, q.tau, out)
                         : select_largest(one, from, q.k, q.prior, out);
  return r;
}

template <typename T>
Result<T> on_gpu(const Question& q) {
  const std::size_t n = q.w.size(), room = q.tau > 0 ? q.k : std::min(q.k, n);
  const DeviceArray<T> w(kept_in(q.w, T{}), q.shift), published(kept_in(q.published, T{}), q.shift);
  const DeviceArray<float> value(room);
  const DeviceArray<std::uint32_t> index(room);
  const DeviceArray<std::uint64_t> tile_begin((n + 65'535) / 65'536 + 1);
  const DeviceArray<HsCudaSelected> selected(1);
  const std::size_t bytes = hs_cuda_select_workspace(n, q.k);
  const DeviceArray<unsigned char> workspace(bytes, 256 - DeviceArray<unsigned char>::kGuard);
  const HsCudaSelectFrom from{w.data(),
                              q.published.empty() ? nullptr : published.data(),
                              n,
                              static_cast<int>(q.kind),
                              q.is_cleared ? 1 : 0,
                              std::is_same_v<T, Bf16> ? HS_SELECT_BF16 : HS_SELECT_FP32};
  const HsCudaSelectOut out{index.data(), value.data(), tile_begin.data(), room};
  must(q.tau > 0 ? hs_cuda_select_above(&from, q.tau, &out, workspace.data(), bytes,
                                        selected.data(), nullptr)
                 : hs_cuda_select_largest(&from, q.k, q.prior, &out, workspace.data(), bytes,
                                          selected.data(), nullptr),
       "select");
  const HsCudaSelected s = selected.host()[0];
  const bool guards = w.guards_hold() && published.guards_hold() && value.guards_hold() &&
                      index.guards_hold() && tile_begin.guards_hold() && selected.guards_hold() &&
                      workspace.guards_hold();
  CHECK(guards);
  return {index.host(), value.host(),     tile_begin.host(),
          w.host(),     published.host(), {s.count, s.bad, s.tau_key, s.is_repaired != 0}};
}

template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <typename T = float>
Result<T> check(const Question& q) {
  const Result<T> cpu = on_cpu<T>(q);
  Result<T> gpu = on_gpu<T>(q);
  CHECK(cpu.selected.count == gpu.selected.count);
  CHECK(cpu.selected.bad == gpu.selected.bad);
  CHECK(cpu.selected.tau_key == gpu.selected.tau_key);
  CHECK(same(cpu.tile_begin, gpu.tile_begin));
  CHECK(same(cpu.index, gpu.index));
  CHECK(same(cpu.value, gpu.value));
  CHECK(same(cpu.w, gpu.w));
  CHECK(same(cpu.published, gpu.published));
  return gpu;
}

}  // namespace

TEST_CASE("the largest of an array are those of the CPU") {
  const std::size_t n =
      GENERATE(0u, 1u, 2u, 7u, 31u, 33u, 4097u, 8191u, 8193u, 65'535u, 65'537u, 1'000'003u);
  const std::string kind =
      GENERATE("normal", "equal", "two", "denormal", "zeros", "hot end", "special");
  const std::size_t k = GENERATE_COPY(std::size_t{0}, std::size_t{1}, n / 1000, n / 100, n / 10,
                                      n - n / 10, n, n + 1);
  CAPTURE(n, kind, k);
  Question q{values_of(kind, n)};
  q.k = k;
  q.is_cleared = n % 2 == 1;
  q.shift = n % 3;
  check(q);
  check<Bf16>(q);
}

TEST_CASE("a wrong guess and more ties than room are repaired") {
  Question q{values_of("normal", 2'000'003)};
  q.k = 20'000;
  const std::uint32_t tau = check(q).selected.tau_key;
  CHECK(!check(q).selected.is_repaired);
  for (const std::uint32_t prior : {tau, tau + 7}) {
    q.prior = prior;
    CHECK(!check(q).selected.is_repaired);
  }
  q.is_cleared = true;
  for (const std::uint32_t prior :
       {tau + (1u << 21), tau - (1u << 21), 1u, 0x7f7fffffu, 0xffffffffu}) {
    CAPTURE(prior);
    q.prior = prior;
    CHECK(check(q).selected.is_repaired);
  }
  Question ties{values_of("equal", 2'000'003)};
  ties.k = 1000;
  CHECK(check(ties).selected.is_repaired);
  CHECK(check<Bf16>(ties).selected.is_repaired);
  Question half{values_of("normal", 2'000'003)};
  half.k = 20'000;
  CHECK(!check<Bf16>(half).selected.is_repaired);
  half.is_cleared = true;
  half.prior = tau - (1u << 21);
  CHECK(check<Bf16>(half).selected.is_repaired);
}

TEST_CASE("what is published follows, from a guess and from a repair") {
  const std::size_t n = GENERATE(5u, 8192u, 300'001u, 2'000'000u);
  const PublishKind kind = GENERATE(PublishKind::kDelta, PublishKind::kAbsolute);
  const std::uint32_t prior = GENERATE(0u, 1u, 0x3f000000u, 0x7f000000u);
  const std::size_t shift = GENERATE(0u, 1u);
  CAPTURE(n, static_cast<int>(kind), prior, shift);
  Question q{values_of("normal", n), values_of("special", n), kind};
  q.k = n / 50 + 1;
  q.prior = prior;
  q.shift = shift;
  check(q);
  check<Bf16>(q);
}

TEST_CASE("all above a threshold, up to the capacity") {
  const std::size_t n = GENERATE(0u, 1u, 8193u, 1'000'003u);
  const bool is_published = GENERATE(false, true);
  const float tau = GENERATE(1e-40f, 0.5f, 2.5f, 3e38f);
  const std::size_t capacity = GENERATE_COPY(std::size_t{0}, n / 100, n);
  CAPTURE(n, is_published, tau, capacity);
  Question q{values_of("special", n)};
  if (is_published) q.published = values_of("normal", n);
  q.is_cleared = !is_published;
  q.tau = tau;
  q.k = capacity;
  check(q);
  check<Bf16>(q);
}

TEST_CASE("sizes that cannot be are refused") {
  const DeviceArray<float> w(100);
  const DeviceArray<HsCudaSelected> selected(1);
  const DeviceArray<std::uint64_t> tile_begin(2);
  HsCudaSelectFrom from{w.data(), nullptr, 100, 0, 0, HS_SELECT_FP32};
  const HsCudaSelectOut out{nullptr, nullptr, tile_begin.data(), 9};
  const std::size_t bytes = hs_cuda_select_workspace(100, 10);
  const DeviceArray<unsigned char> workspace(bytes);
  const auto largest = [&](std::size_t k, std::size_t of) {
    return hs_cuda_select_largest(&from, k, 0, &out, workspace.data(), of, selected.data(),
                                  nullptr);
  };
  CHECK(largest(10, bytes) == cudaErrorInvalidValue);
  CHECK(largest(9, 1000) == cudaErrorInvalidValue);
  from.type = 2;
  CHECK(largest(9, bytes) == cudaErrorInvalidValue);
  from.type = HS_SELECT_FP32;
  for (const float tau : {0.0f, -1.0f, std::numeric_limits<float>::infinity()}) {
    CHECK(hs_cuda_select_above(&from, tau, &out, workspace.data(), bytes, selected.data(),
                               nullptr) == cudaErrorInvalidValue);
  }
}
