// SPDX-License-Identifier: Apache-2.0
// Sparse updates and merges of random records; every sample starts from the same weights, and all
// weights are compared with those of the CPU. Bytes count sectors of 32.
#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/bench/cuda_cases.hpp"
#include "kernels/bench/random_inputs.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/sparse_api.h"
#include "kernels/ops/sparse_ops.hpp"

namespace hearsay::kernels {
namespace {

constexpr float kAlpha = 0.25f, kWeight = 0.125f;
constexpr std::size_t kLists = 8;

std::vector<float> weights(std::size_t n) {
  std::vector<float> w(n);
  fill_random(w, 1, "w");
  return w;
}

struct DeviceRecord {
  explicit DeviceRecord(const RandomRecord& from)
      : id(from.id), value(from.value), tile_begin(from.tile_begin) {}
  DeviceArray<std::uint32_t> id;
  DeviceArray<float> value;
  DeviceArray<std::uint64_t> tile_begin;
};

struct Data {
  Data(std::size_t n, std::uint32_t one_in, std::size_t block, std::size_t count)
      : start(weights(n)), w(n) {
    std::size_t terms = n;
    for (std::size_t s = 0; s < count; ++s) {
      records.push_back(random_record(n / block, one_in, block, 2 + s));
      on_device.push_back(std::make_unique<DeviceRecord>(records[s]));
      terms = std::max(terms, records[s].value.size());
    }
    workspace = std::make_unique<DeviceArray<double>>(hs_cuda_sparse_workspace(terms) / 8 + 1);
  }
  void reset(void* stream) const {
    must(cudaMemcpyAsync(w.data(), start.data(), w.size() * sizeof(float), cudaMemcpyDeviceToDevice,
                         static_cast<cudaStream_t>(stream)),
         "copy");
  }
  std::uint64_t differences(const std::vector<float>& expected) const {
    const auto got = w.host();
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      wrong += std::memcmp(&got[i], &expected[i], sizeof(float)) != 0;
    }
    return wrong;
  }
  DeviceArray<float> start, w;
  std::vector<RandomRecord> records;
  std::vector<std::unique_ptr<DeviceRecord>> on_device;
  std::unique_ptr<DeviceArray<double>> workspace;
  DeviceArray<HsCudaSparseStats> stats{1};
};

void update(const Data& data, std::size_t s, std::size_t block, void* stream) {
  const DeviceRecord& record = *data.on_device[s];
  const std::size_t n = data.w.size(), bytes = data.workspace->size() * sizeof(double);
  const int kind = static_cast<int>(SparseKind::kAbsolute);
  must(block == 1
           ? hs_cuda_sparse_ema(data.w.data(), n, record.id.data(), record.value.data(),
                                record.id.size(), kind, kAlpha, data.workspace->data(), bytes,
                                data.stats.data(), stream)
           : hs_cuda_sparse_ema_blocks(data.w.data(), n, record.id.data(), record.value.data(),
                                       record.id.size(), block, kind, kAlpha,
                                       data.workspace->data(), bytes, data.stats.data(), stream),
       "sparse ema");
}

KernelCase update_case(std::size_t n, void* stream, std::uint32_t one_in, std::size_t block,
                       std::size_t count) {
  auto data = std::make_shared<Data>(n, one_in, block, count);
  KernelCase ema;
  for (const RandomRecord& record : data->records) {
    ema.bytes += 4.0 * static_cast<double>(record.id.size() + record.value.size());
    ema.bytes += block == 1 ? 64.0 * lines_touched({&record, 1}, n, 8)
                            : 8.0 * static_cast<double>(record.value.size());
  }
  ema.reset = [=] { data->reset(stream); };
  ema.run = [=] {
    for (std::size_t s = 0; s < count; ++s) update(*data, s, block, stream);
  };
  ema.wrong = [=] {
    auto expected = weights(n);
    OneWorker one;
    for (const RandomRecord& record : data->records) {
      block == 1 ? sparse_ema(one, expected, record.id, record.value, SparseKind::kAbsolute, kAlpha)
                 : sparse_ema_blocks(one, expected, record.id, record.value, block,
                                     SparseKind::kAbsolute, kAlpha);
    }
    return data->differences(expected);
  };
  return ema;
}

KernelCase merge_case(std::size_t n, void* stream) {
  auto data = std::make_shared<Data>(n, 20, 1, kLists);
  auto lists = std::make_shared<std::vector<HsCudaSparseList>>();
  KernelCase merge;
  for (const auto& record : data->on_device) {
    lists->push_back({record->id.data(), record->value.data(), record->tile_begin.data(), kWeight});
    merge.bytes += 8.0 * static_cast<double>(record->id.size());
  }
  merge.bytes += 64.0 * lines_touched(data->records, n, 8);
  merge.reset = [=] { data->reset(stream); };
  merge.run = [=] {
    must(hs_cuda_merge_lists(data->w.data(), n, lists->data(), lists->size(), 0, 0, kAlpha,
                             data->workspace->data(), data->workspace->size() * sizeof(double),
                             data->stats.data(), stream),
         "merge lists");
  };
  merge.wrong = [=] {
    auto expected = weights(n);
    std::vector<SparseList> on_host;
    for (const RandomRecord& record : data->records) {
      on_host.push_back({record.id, record.value, record.tile_begin, kWeight});
    }
    OneWorker one;
    const MergeTotals totals =
        merge_lists(one, expected, on_host, MergeNorm::kNone, SparseKind::kDelta, kAlpha);
    const HsCudaSparseStats got = data->stats.host()[0];
    return data->differences(expected) +
           (std::memcmp(&got.update_sq, &totals.stats.update_sq, sizeof(double)) != 0) +
           (got.touched != totals.touched);
  };
  return merge;
}

}  // namespace

std::vector<CudaCaseMaker> cuda_sparse_cases() {
  return {{"sparse ema 1%", [](std::size_t n, void* on) { return update_case(n, on, 100, 1, 1); }},
          {"sparse ema 1% blocks16",
           [](std::size_t n, void* on) { return update_case(n, on, 100, 16, 1); }},
          {"sparse ema 5%", [](std::size_t n, void* on) { return update_case(n, on, 20, 1, 1); }},
          {"merge 8 lists 5%", merge_case},
          {"8 x sparse ema 5%",
           [](std::size_t n, void* on) { return update_case(n, on, 20, 1, kLists); }}};
}

}  // namespace hearsay::kernels
