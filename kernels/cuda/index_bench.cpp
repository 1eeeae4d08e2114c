// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "kernels/bench/bench_indices.hpp"
#include "kernels/bench/cuda_cases.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/index_api.h"

namespace hearsay::kernels {
namespace {

struct OnDevice {
  explicit OnDevice(std::size_t positions)
      : host(bench_indices(positions)),
        indices(host.indices),
        first(host.first),
        at(host.at),
        bytes(host.bytes) {}
  BenchIndices host;
  DeviceArray<std::uint16_t> indices;
  DeviceArray<std::uint64_t> first, at;
  DeviceArray<std::uint8_t> bytes;
};

template <typename T>
std::uint64_t differing(const std::vector<T>& a, const std::vector<T>& b) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) wrong += a[i] != b[i];
  return wrong;
}

KernelCase encode_case(std::size_t n, void* stream) {
  auto in = std::make_shared<OnDevice>(n);
  in->bytes.poison();
  KernelCase each;
  each.bytes = in->host.traffic();
  each.run = [=] {
    must(hs_cuda_index_encode(in->indices.data(), in->first.data(), in->at.data(), in->host.tiles(),
                              in->bytes.data(), stream),
         "encode");
  };
  each.wrong = [=] { return differing(in->bytes.host(), in->host.bytes); };
  return each;
}

KernelCase decode_case(std::size_t n, void* stream) {
  auto in = std::make_shared<OnDevice>(n);
  in->indices.poison();
  auto status =
      std::make_shared<DeviceArray<std::uint32_t>>(std::vector<std::uint32_t>(in->host.tiles(), 0));
  KernelCase each;
  each.bytes = in->host.traffic();
  each.run = [=] {
    must(hs_cuda_index_decode(in->bytes.data(), in->bytes.size(), in->at.data(), in->first.data(),
                              in->host.tiles(), n, in->indices.data(), status->data(), stream),
         "decode");
  };
  each.wrong = [=] {
    std::uint64_t wrong = differing(in->indices.host(), in->host.indices);
    for (const std::uint32_t each_status : status->host()) wrong += each_status;
    return wrong;
  };
  return each;
}

}  // namespace

std::vector<CudaCaseMaker> cuda_index_cases() {
  return {{"index encode 1%", encode_case}, {"index decode 1%", decode_case}};
}

}  // namespace hearsay::kernels
