// SPDX-License-Identifier: Apache-2.0
// Sparse updates and merges of random records.
#include "kernels/ops/sparse_ops.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "kernels/bench/cpu_cases.hpp"
#include "kernels/bench/random_inputs.hpp"
#include "kernels/core/buffer.hpp"

namespace hearsay::kernels {
namespace {

constexpr float kAlpha = 0.25f;
constexpr std::size_t kLists = 8;

struct Data {
  std::vector<RandomRecord> records;
  Buffer<float> start, w;
  void reset() { std::copy_n(start.data(), start.size(), w.data()); }
};

std::shared_ptr<Data> make_data(std::size_t n, std::uint32_t one_in, std::size_t block,
                                std::size_t count) {
  auto data = std::make_shared<Data>(Data{{}, Buffer<float>(n), Buffer<float>(n)});
  fill_random(data->start.span(), 1, "w");
  for (std::size_t s = 0; s < count; ++s) {
    data->records.push_back(random_record(n / block, one_in, block, 2 + s));
  }
  data->reset();
  return data;
}

std::uint64_t differences(const Data& data, const std::vector<float>& expected) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    wrong += std::bit_cast<std::uint32_t>(data.w[i]) != std::bit_cast<std::uint32_t>(expected[i]);
  }
  return wrong;
}

std::vector<float> copy_of(const Buffer<float>& values) {
  return {values.data(), values.data() + values.size()};
}

KernelCase update_case(std::size_t n, Workers& workers, std::uint32_t one_in, std::size_t block,
                       std::size_t count) {
  auto data = make_data(n, one_in, block, count);
  KernelCase update;
  const std::size_t ids_a_line = std::max<std::size_t>(1, 16 / block);  // of 64 B
  const double lines_an_id = block == 32 ? 2.0 : 1.0;
  for (const RandomRecord& record : data->records) {
    update.bytes += 4.0 * static_cast<double>(record.id.size() + record.value.size()) +
                    128.0 * lines_an_id * lines_touched({&record, 1}, n, ids_a_line);
  }
  update.reset = [=] { data->reset(); };
  update.run = [=, &workers] {
    for (const RandomRecord& record : data->records) {
      if (block == 1) {
        sparse_ema(workers, data->w.span(), record.id, record.value, SparseKind::kAbsolute, kAlpha);
      } else {
        sparse_ema_blocks(workers, data->w.span(), record.id, record.value, block,
                          SparseKind::kAbsolute, kAlpha);
      }
    }
  };
  update.wrong = [=] {
    auto expected = copy_of(data->start);
    for (const RandomRecord& record : data->records) {
      for (std::size_t e = 0; e < record.value.size(); ++e) {
        float& w = expected[record.id[e / block] * block + e % block];
        const float u = kAlpha * (record.value[e] - w);
        w += u;
      }
    }
    return differences(*data, expected);
  };
  return update;
}

KernelCase merge_case(std::size_t n, Workers& workers) {
  auto data = make_data(n, 20, 1, kLists);
  auto lists = std::make_shared<std::vector<SparseList>>();
  KernelCase merge;
  for (const RandomRecord& record : data->records) {
    lists->push_back({record.id, record.value, record.tile_begin, 0.125f});
    merge.bytes += 8.0 * static_cast<double>(record.id.size());
  }
  merge.bytes += 128.0 * lines_touched(data->records, n, 16);
  merge.reset = [=] { data->reset(); };
  merge.run = [=, &workers] {
    merge_lists(workers, data->w.span(), *lists, MergeNorm::kNone, SparseKind::kDelta, kAlpha);
  };
  merge.wrong = [=] {
    std::vector<float> sum(n, -0.0f);  // -0 + x is x
    for (const RandomRecord& record : data->records) {
      for (std::size_t e = 0; e < record.id.size(); ++e)
        sum[record.id[e]] += 0.125f * record.value[e];
    }
    auto expected = copy_of(data->start);
    for (std::size_t i = 0; i < n; ++i) {
      const float u = kAlpha * sum[i];
      expected[i] += u;
    }
    return differences(*data, expected);
  };
  return merge;
}

}  // namespace

std::vector<CpuCaseMaker> cpu_sparse_cases() {
  return {{"sparse ema 1%", [](std::size_t n, Workers& w) { return update_case(n, w, 100, 1, 1); }},
          {"sparse ema 1% blocks16",
           [](std::size_t n, Workers& w) { return update_case(n, w, 100, 16, 1); }},
          {"sparse ema 5%", [](std::size_t n, Workers& w) { return update_case(n, w, 20, 1, 1); }},
          {"merge 8 lists 5%", merge_case},
          {"8 x sparse ema 5%",
           [](std::size_t n, Workers& w) { return update_case(n, w, 20, 1, kLists); }}};
}

}  // namespace hearsay::kernels
