// SPDX-License-Identifier: Apache-2.0
// Selection against std::nth_element on a copy, which finds the threshold of 1 % but neither the
// indices nor the order. Every selection starts from the same published values.
#include "kernels/ops/select_ops.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/bench/cpu_cases.hpp"
#include "kernels/bench/random_inputs.hpp"
#include "kernels/core/buffer.hpp"

namespace hearsay::kernels {
namespace {

void fill(Buffer<float>& values, const char* purpose) { fill_random(values.span(), 11, purpose); }
void fill(Buffer<Bf16>& values, const char* purpose) {
  Buffer<float> wide(values.size());
  fill_random(wide.span(), 11, purpose);
  for (std::size_t i = 0; i < wide.size(); ++i) values[i] = nearest(wide[i], Bf16{});
}

template <typename T>
struct Data {
  Data(std::size_t n, std::size_t room, bool is_published)
      : w(n),
        start(is_published ? n : 0),
        published(start.size()),
        index(room),
        value(room),
        tile_begin((n + kSelectWireTile - 1) / kSelectWireTile + 1) {
    fill(w, "w");
    fill(start, "published");
    reset();
  }
  void reset() { std::copy_n(start.data(), start.size(), published.data()); }
  SelectOut out() { return {index.span(), value.span(), tile_begin.span()}; }
  SelectFromArrays<T> from() { return {w.span(), published.span()}; }
  float before(std::size_t i) const {
    return start.size() > 0 ? widen(w[i]) - widen(start[i]) : widen(w[i]);
  }
  Buffer<T> w, start, published;
  Buffer<std::uint32_t> index;
  Buffer<float> value;
  Buffer<std::uint64_t> tile_begin;
  Selected selected;
};

// Entries that are not those of a plain walk with the exact threshold.
template <typename T>
std::uint64_t wrong_entries(const Data<T>& data, std::size_t k, float given_tau) {
  const std::size_t n = data.w.size();
  float tau = given_tau;
  std::uint64_t ties = n;
  if (given_tau == 0.0f) {
    std::vector<float> sizes(n);
    for (std::size_t i = 0; i < n; ++i) sizes[i] = std::fabs(data.before(i));
    std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(k - 1), sizes.end(),
                     std::greater<>());
    tau = sizes[k - 1];
    ties = k;
    for (std::size_t j = 0; j < k; ++j) ties -= sizes[j] > tau;
  }
  std::uint64_t wrong = 0, to = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const float u = data.before(i);
    const bool is_kept = std::fabs(u) > tau || (std::fabs(u) == tau && ties > 0);
    if (is_kept && std::fabs(u) == tau) --ties;
    if (is_kept) {
      wrong += to >= data.selected.count || data.index[to] != i || data.value[to] != u;
      ++to;
    }
    if (data.start.size() > 0) {
      const float start = widen(data.start[i]);
      wrong += widen(data.published[i]) != (is_kept ? widen(stored_as(start + u, T{})) : start);
    }
  }
  return wrong + (to != data.selected.count);
}

template <typename T>
KernelCase exact_case(std::size_t n, Workers& workers, std::size_t one_in, bool is_published) {
  const std::size_t k = std::max<std::size_t>(1, n / one_in);
  auto data = std::make_shared<Data<T>>(n, k, is_published);
  KernelCase exact;
  constexpr double kValue = sizeof(T);
  exact.bytes = kValue * (is_published ? 2.0 : 1.0) * static_cast<double>(n) +
                (is_published ? kValue + 8.0 : 8.0) * static_cast<double>(k);
  if (is_published) exact.reset = [=] { data->reset(); };
  exact.run = [=, &workers] {
    data->selected = select_largest(workers, data->from(), k, 0, data->out());
  };
  exact.wrong = [=] { return wrong_entries(*data, k, 0.0f); };
  return exact;
}

KernelCase threshold_case(std::size_t n, Workers& workers) {
  auto data = std::make_shared<Data<float>>(n, n / 50 + 64, true);
  const float tau = sampled_threshold(data->from(), std::max<std::size_t>(1, n / 100));
  KernelCase above;
  above.bytes = 8.0 * static_cast<double>(n) + 12.0 * static_cast<double>(n / 100);
  above.reset = [=] { data->reset(); };
  above.run = [=, &workers] {
    data->selected = select_above(workers, data->from(), tau, data->out());
  };
  above.wrong = [=] { return wrong_entries(*data, 0, tau); };
  return above;
}

KernelCase nth_element_case(std::size_t n, Workers&) {
  const std::size_t k = std::max<std::size_t>(1, n / 100);
  auto data = std::make_shared<Data<float>>(n, 0, false);
  auto copy = std::make_shared<Buffer<float>>(n);
  KernelCase nth;
  nth.bytes = 4.0 * static_cast<double>(n) + 4.0 * static_cast<double>(k);
  nth.run = [=] {
    for (std::size_t i = 0; i < n; ++i) (*copy)[i] = std::fabs(data->w[i]);
    std::nth_element(copy->data(), copy->data() + k - 1, copy->data() + n, std::greater<>());
  };
  return nth;
}

}  // namespace

std::vector<CpuCaseMaker> cpu_select_cases() {
  const auto exact = [](auto type, std::size_t one_in, bool is_published) {
    return [=](std::size_t n, Workers& workers) {
      return exact_case<decltype(type)>(n, workers, one_in, is_published);
    };
  };
  return {{"select 1% exact", exact(float{}, 100, false)},
          {"select 1% published", exact(float{}, 100, true)},
          {"select 1% threshold", threshold_case},
          {"select 10% exact", exact(float{}, 10, false)},
          {"select 1% bf16", exact(Bf16{}, 100, false)},
          {"select 1% bf16 published", exact(Bf16{}, 100, true)},
          {"nth_element", nth_element_case}};
}

}  // namespace hearsay::kernels
