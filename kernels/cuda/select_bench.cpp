// SPDX-License-Identifier: Apache-2.0
// Selections of a tenth and of a hundredth; every sample starts from the same published values, and
// the entries and what was published are compared with those of the CPU.
#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/bench/cuda_cases.hpp"
#include "kernels/bench/random_inputs.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/select_api.h"
#include "kernels/ops/select_ops.hpp"

namespace hearsay::kernels {
namespace {

std::vector<float> values(std::size_t n, const char* purpose) {
  std::vector<float> all(n);
  fill_random(all, 11, purpose);
  return all;
}

std::size_t tiles_of(std::size_t n) { return (n + kSelectWireTile - 1) / kSelectWireTile; }

struct Data {
  Data(std::size_t n, std::size_t room, bool is_published)
      : w(values(n, "w")),
        start(values(is_published ? n : 0, "published")),
        published(start.size()),
        index(room),
        value(room),
        tile_begin(tiles_of(n) + 1),
        workspace(hs_cuda_select_workspace(n, room), 256 - DeviceArray<unsigned char>::kGuard) {}
  HsCudaSelectFrom from() const {
    return {w.data(), start.size() > 0 ? published.data() : nullptr, w.size(), 0, 0};
  }
  HsCudaSelectOut out() const {
    return {index.data(), value.data(), tile_begin.data(), index.size()};
  }
  void reset(void* stream) const {
    must(cudaMemcpyAsync(published.data(), start.data(), start.size() * sizeof(float),
                         cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream)),
         "copy");
  }
  DeviceArray<float> w, start, published;
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
std::uint64_t wrong_values(const Data& data, float tau) {
  const std::size_t n = data.w.size(), room = data.index.size();
  auto w = values(n, "w"), published = values(data.start.size(), "published");
  std::vector<std::uint32_t> index(room);
  std::vector<float> value(room);
  std::vector<std::uint64_t> tile_begin(tiles_of(n) + 1);
  const SelectFrom from{w, published};
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

KernelCase exact_case(std::size_t n, void* stream, std::size_t one_in, bool is_published) {
  const std::size_t k = std::max<std::size_t>(1, n / one_in);
  auto data = std::make_shared<Data>(n, k, is_published);
  KernelCase exact;
  exact.bytes = (is_published ? 8.0 : 4.0) * static_cast<double>(n) +
                (is_published ? 12.0 : 8.0) * static_cast<double>(k);
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
  auto data = std::make_shared<Data>(n, n / 50 + 64, true);
  auto w = values(n, "w"), published = values(n, "published");
  const float tau = sampled_threshold({w, published}, std::max<std::size_t>(1, n / 100));
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
  return {
      {"select 1% exact", [](std::size_t n, void* on) { return exact_case(n, on, 100, false); }},
      {"select 1% published", [](std::size_t n, void* on) { return exact_case(n, on, 100, true); }},
      {"select 1% threshold", threshold_case},
      {"select 10% exact", [](std::size_t n, void* on) { return exact_case(n, on, 10, false); }}};
}

}  // namespace hearsay::kernels
