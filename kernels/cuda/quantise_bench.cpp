// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>

#include "kernels/bench/bench_values.hpp"
#include "kernels/bench/cuda_cases.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/quantise_api.h"
#include "kernels/ops/quantise_ops.hpp"

namespace hearsay::kernels {
namespace {

QuantiseSpec spec_of(std::uint32_t bits, std::uint32_t block, bool stochastic) {
  QuantiseSpec spec;
  spec.bits = bits;
  spec.block = block;
  spec.stochastic = stochastic;
  spec.bf16_scales = bits == 4;
  spec.seed = 77;
  return spec;
}

HsQuantiseSpec c_spec(const QuantiseSpec& spec) {
  return {spec.bits, spec.block, spec.bf16_scales, spec.stochastic, spec.seed, spec.stream};
}

double traffic(const QuantiseSpec& spec, std::size_t n) {
  return 4.0 * static_cast<double>(n) + static_cast<double>(quantised_bytes(spec, n)) +
         static_cast<double>(scale_bytes(spec, n));
}

std::uint64_t differing(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) wrong += a[i] != b[i];
  return wrong;
}

KernelCase quantise_case(QuantiseSpec spec, std::size_t n, void* stream) {
  auto d_x = std::make_shared<DeviceArray<float>>(bench_values(n, "quantise"));
  auto d_q = std::make_shared<DeviceArray<std::uint8_t>>(quantised_bytes(spec, n));
  auto d_scales = std::make_shared<DeviceArray<std::uint8_t>>(scale_bytes(spec, n));
  auto d_bad =
      std::make_shared<DeviceArray<unsigned long long>>(std::vector<unsigned long long>{0});
  KernelCase each;
  each.bytes = traffic(spec, n);
  each.run = [=] {
    const HsQuantiseSpec c = c_spec(spec);
    must(hs_cuda_quantise(&c, 0, d_x->data(), n, d_q->data(), d_scales->data(), nullptr,
                          d_bad->data(), stream),
         "quantise");
  };
  each.wrong = [=] {
    std::vector<std::uint8_t> q(quantised_bytes(spec, n)), scales(scale_bytes(spec, n));
    quantise(spec, 0, bench_values(n, "quantise"), q, scales, {});
    return differing(q, d_q->host()) + differing(scales, d_scales->host()) + d_bad->host()[0];
  };
  return each;
}

KernelCase dequantise_case(std::size_t n, void* stream) {
  const QuantiseSpec spec = spec_of(8, 64, true);
  auto q = std::make_shared<std::vector<std::uint8_t>>(quantised_bytes(spec, n));
  auto scales = std::make_shared<std::vector<std::uint8_t>>(scale_bytes(spec, n));
  quantise(spec, 0, bench_values(n, "quantise"), *q, *scales, {});
  auto d_q = std::make_shared<DeviceArray<std::uint8_t>>(*q);
  auto d_scales = std::make_shared<DeviceArray<std::uint8_t>>(*scales);
  auto d_y = std::make_shared<DeviceArray<float>>(n);
  KernelCase each;
  each.bytes = traffic(spec, n);
  each.run = [=] {
    const HsQuantiseSpec c = c_spec(spec);
    must(hs_cuda_dequantise(&c, d_q->data(), d_scales->data(), d_y->data(), n, stream),
         "dequantise");
  };
  each.wrong = [=] {
    std::vector<float> expected(n);
    dequantise(spec, *q, *scales, expected);
    const auto got = d_y->host();
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i)
      wrong += std::memcmp(&got[i], &expected[i], sizeof(float)) != 0;
    return wrong;
  };
  return each;
}

CudaCaseMaker maker(const char* op, const QuantiseSpec& spec) {
  return {op, [spec](std::size_t n, void* stream) { return quantise_case(spec, n, stream); }};
}

}  // namespace

std::vector<CudaCaseMaker> cuda_quantise_cases() {
  return {maker("int8 b64 sr", spec_of(8, 64, true)),
          maker("int8 b64 nearest", spec_of(8, 64, false)),
          maker("int4 b32 sr", spec_of(4, 32, true)),
          {"dequantise int8", dequantise_case}};
}

}  // namespace hearsay::kernels
