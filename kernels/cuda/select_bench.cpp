// SPDX-License-Identifier: Apache-2.0
// Selections of a tenth and of a hundredth; every sample starts from the same published values, and
// the entries and what was published are compared with those of the CPU.
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "kernels/bench/cuda_cases.hpp"
#include "kernels/bench/random_inputs.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/select_api.h"
#include "kernels/ops/select_ops.hpp"

namespace hearsay::kernels {
namespace {

template <typename T>
std::vector<T> values(std::size_t n, const char* purpose) {
  std::vector<float> all(n);
  fill_random(all, 11, purpose);
  if constexpr (std::is_same_v<T, float>) {
    return all;
  } else {
    std::vector<T> narrow(n);
    for (std::size_t i = 0; i < n; ++i) narrow[i] = nearest(all[i], T{});
    return narrow;
  }
}

std::size_t tiles_of(std::size_t n) { return (n + kSelectWireTile - 1) / kSelectWireTile; }

template <typename T>
struct Data {
  Data(std::size_t n, std::size_t room, bool is_published)
      : w(values<T>(n, "w")),
        start(values<T>(is_published ? n : 0, "published")),
        published(start.size()),
        index(room),
        value(room),
        tile_begin(tiles_of(n) + 1),
        workspace(hs_cuda_select_workspace(n, room), 256 - DeviceArray<unsigned char>::kGuard) {}
  HsCudaSelectFrom from() const {
    return {w.data(), start.size() > 0 ? published.data() : nullptr,
            w.size(), 0,
            0,        std::is_same_v<T, Bf16> ? HS_SELECT_BF16 : HS_SELECT_FP32};
  }
  HsCudaSelectOut out() const {
    return {index.data(), value.data(), tile_begin.data(), index.size()};
  }
  void reset(void* stream) const {
    must(cudaMemcpyAsync(published.data(), start.data(), start.size() * sizeof(T),
                         cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream)),
         "copy");
  }
  DeviceArray<T> w, start, published;
  DeviceArray<std::uint32_t> index;
  DeviceArray<float> value;
  DeviceArray<std::uint64_t> tile_begin;
  DeviceArray<unsigned char> workspace;
  DeviceArray<HsCudaSelected> selected{1};
};

template <typename T>
std::uint64_t differences(const std::vector<T>& a, const T* b, std::size_t count) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += std::memcmp(&a[i], b + i, sizeof(T)) != 0;
  return wrong;
}

// tau = 0: the largest k of Data::index's size.
template <typename T>
std::uint64_t wrong_values(const Data<T>& data, float tau) {
  const std::size_t n = data.w.size(), room = data.index.size();
  auto w = values<T>(n, "w"), published = values<T>(data.start.size(), "published");
  std::vector<std::uint32_t> index(room);
  std::vector<float> value(room);
  std::vector<std::uint64_t> tile_begin(tiles_of(n) + 1);
  const SelectFromArrays<T> from{w, published};
  const SelectOut out{index, value, tile_begin};
  OneWorker one;
  const Selected expected =
      tau > 0.0f ? select_above(one, from, tau, out) : select_largest(one, from, room, 0, out);
  const HsCudaSelected got = data.selected.host()[0];
  const std::size_t count = std::min<std::size_t>(expected.count, room);
  std::uint64_t wrong =
      (got.count != expected.count) + (got.bad != expected.bad) + (got.tau_key != expected.tau_key);
  wrong += differences(data.index.host(), index.data(), count);
  wrong += differences(data.value.host(), value.data(), count);
  wrong += differences(data.tile_begin.host(), tile_begin.data(), tile_begin.size());
  return wrong + differences(data.published.host(), published.data(), published.size());
}

template <typename T>
KernelCase exact_case(std::size_t n, void* stream, std::size_t one_in, bool is_published) {
  const std::size_t k = std::max<std::size_t>(1, n / one_in);
  auto data = std::make_shared<Data<T>>(n, k, is_published);
  KernelCase exact;
  constexpr double kValue = sizeof(T);
  exact.bytes = kValue * (is_published ? 2.0 : 1.0) * static_cast<double>(n) +
                (is_published ? kValue + 8.0 : 8.0) * static_cast<double>(k);
  if (is_published) exact.reset = [=] { data->reset(stream); };
  exact.run = [=] {
    const HsCudaSelectFrom from = data->from();
    const HsCudaSelectOut out = data->out();
    must(hs_cuda_select_largest(&from, k, 0, &out, data->workspace.data(), data->workspace.size(),
                                data->selected.data(), stream),
         "select");
  };
  exact.wrong = [=] { return wrong_values(*data, 0.0f); };
  return exact;
}

// The threshold comes from the CPU's sample, as a round without an earlier one would take it.
KernelCase threshold_case(std::size_t n, void* stream) {
  auto data = std::make_shared<Data<float>>(n, n / 50 + 64, true);
  auto w = values<float>(n, "w"), published = values<float>(n, "published");
  const float tau = sampled_threshold(SelectFrom{w, published}, std::max<std::size_t>(1, n / 100));
  KernelCase above;
  above.bytes = 8.0 * static_cast<double>(n) + 12.0 * static_cast<double>(n / 100);
  above.reset = [=] { data->reset(stream); };
  above.run = [=] {
    const HsCudaSelectFrom from = data->from();
    const HsCudaSelectOut out = data->out();
    must(hs_cuda_select_above(&from, tau, &out, data->workspace.data(), data->workspace.size(),
                              data->selected.data(), stream),
         "select");
  };
  above.wrong = [=] { return wrong_values(*data, tau); };
  return above;
}

}  // namespace

std::vector<CudaCaseMaker> cuda_select_cases() {
  const auto exact = [](auto type, std::size_t one_in, bool is_published) {
    return [=](std::size_t n, void* on) {
      return exact_case<decltype(type)>(n, on, one_in, is_published);
    };
  };
  return {{"select 1% exact", exact(float{}, 100, false)},
          {"select 1% published", exact(float{}, 100, true)},
          {"select 1% threshold", threshold_case},
          {"select 10% exact", exact(float{}, 10, false)},
          {"select 1% bf16", exact(Bf16{}, 100, false)},
          {"select 1% bf16 published", exact(Bf16{}, 100, true)}};
}

}  // namespace hearsay::kernels
