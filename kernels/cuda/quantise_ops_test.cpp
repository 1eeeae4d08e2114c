// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/quantise_ops.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/quantise_api.h"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

std::vector<float> awkward_values(std::size_t n) {
  auto rng = Rng::stream(3, "quantise-test");
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float size = rng.below(40) == 0 ? 1e6f : (i / 256 % 5 == 4 ? 1e-41f : 1.0f);
    x[i] = i / 256 % 7 == 6 ? 0.0f : static_cast<float>(rng.normal()) * size;
    if (rng.below(300) == 0) x[i] = rng.below(2) == 0 ? -INFINITY : NAN;
    if (rng.below(500) == 0) x[i] = 3.4e38f;
  }
  return x;
}

HsQuantiseSpec c_spec(const QuantiseSpec& spec) {
  return {spec.bits, spec.block, spec.bf16_scales, spec.stochastic, spec.seed, spec.stream};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("quantised bytes, scales, residuals and counts are those of the CPU") {
  QuantiseSpec spec;
  spec.bits = GENERATE(8u, 4u);
  spec.block = GENERATE(32u, 64u, 128u, 256u);
  spec.stochastic = GENERATE(false, true);
  spec.bf16_scales = GENERATE(false, true);
  spec.seed = 0x123456789ABCDEFull;
  spec.stream = 0xFEDCBA9876543210ull;
  const std::size_t n = GENERATE(0u, 1u, 31u, 33u, 257u, 511u, 512u, 4099u, 300'003u);
  const std::size_t shift = GENERATE(0u, 1u, 4u);
  const bool with_residual = GENERATE(false, true);
  const std::uint64_t first = (std::uint64_t{1} << 35) - 512;
  CAPTURE(spec.bits, spec.block, spec.stochastic, spec.bf16_scales, n, shift, with_residual);
  const auto x = awkward_values(n);
  std::vector<std::uint8_t> q(quantised_bytes(spec, n)), scales(scale_bytes(spec, n));
  std::vector<float> residual(with_residual ? n : 0);
  const std::uint64_t bad = quantise(spec, first, x, q, scales, residual);

  const DeviceArray<float> d_x(x, shift), d_residual(n, shift);
  const DeviceArray<std::uint8_t> d_q(q.size(), shift), d_scales(scales.size());
  const DeviceArray<unsigned long long> d_bad(std::vector<unsigned long long>{5});
  const HsQuantiseSpec c = c_spec(spec);
  must(hs_cuda_quantise(&c, first, d_x.data(), n, d_q.data(), d_scales.data(),
                        with_residual ? d_residual.data() : nullptr, d_bad.data(), nullptr),
       "quantise");
  CHECK((d_q.host() == q));
  CHECK((d_scales.host() == scales));
  CHECK(d_bad.host()[0] == bad + 5);
  if (with_residual) CHECK(same_bits(d_residual.host(), residual));
  CHECK(same_bits(d_x.host(), x));
  CHECK((d_x.guards_hold() && d_q.guards_hold() && d_scales.guards_hold()));
  CHECK((d_residual.guards_hold() && d_bad.guards_hold()));

  std::vector<float> y(n);
  dequantise(spec, q, scales, y);
  const DeviceArray<float> d_y(n, shift);
  must(hs_cuda_dequantise(&c, d_q.data(), d_scales.data(), d_y.data(), n, nullptr), "dequantise");
  CHECK(same_bits(d_y.host(), y));
  CHECK(d_y.guards_hold());
}

TEST_CASE("one value that is not finite spoils neither its block nor its neighbours") {
  QuantiseSpec spec;
  spec.block = GENERATE(32u, 64u, 128u, 256u);
  const float bad_value = GENERATE(NAN, -NAN, INFINITY, -INFINITY);
  const std::size_t at = GENERATE(0u, 7u, 260u, 511u);
  std::vector<float> x(1024);
  auto rng = Rng::stream(4, "one-bad");
  for (float& v : x) v = static_cast<float>(rng.normal());
  x[at] = bad_value;
  std::vector<std::uint8_t> q(x.size()), scales(scale_bytes(spec, x.size()));
  CHECK(quantise(spec, 0, x, q, scales, {}) == 1);
  const DeviceArray<float> d_x(x);
  const DeviceArray<std::uint8_t> d_q(q.size()), d_scales(scales.size());
  const DeviceArray<unsigned long long> d_bad(std::vector<unsigned long long>{0});
  const HsQuantiseSpec c = c_spec(spec);
  must(hs_cuda_quantise(&c, 0, d_x.data(), x.size(), d_q.data(), d_scales.data(), nullptr,
                        d_bad.data(), nullptr),
       "quantise");
  CHECK((d_q.host() == q));
  CHECK((d_scales.host() == scales));
  CHECK(d_bad.host()[0] == 1);
}

TEST_CASE("a residual takes the place of its values") {
  QuantiseSpec spec;
  auto x = awkward_values(10'001);
  const DeviceArray<float> d_x(x);
  std::vector<std::uint8_t> q(quantised_bytes(spec, x.size())), scales(scale_bytes(spec, x.size()));
  quantise(spec, 0, x, q, scales, x);
  const DeviceArray<std::uint8_t> d_q(q.size()), d_scales(scales.size());
  const DeviceArray<unsigned long long> d_bad(std::vector<unsigned long long>{0});
  const HsQuantiseSpec c = c_spec(spec);
  must(hs_cuda_quantise(&c, 0, d_x.data(), x.size(), d_q.data(), d_scales.data(), d_x.data(),
                        d_bad.data(), nullptr),
       "quantise");
  CHECK(same_bits(d_x.host(), x));
  CHECK((d_q.host() == q));
}

TEST_CASE("a spec that is not valid is an error") {
  HsQuantiseSpec spec{8, 64, 0, 1, 0, 0};
  CHECK(hs_cuda_quantise(&spec, 32, nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr) != 0);
  spec.block = 48;
  CHECK(hs_cuda_quantise(&spec, 0, nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr) != 0);
  spec.block = 64;
  spec.bits = 5;
  CHECK(hs_cuda_dequantise(&spec, nullptr, nullptr, nullptr, 0, nullptr) != 0);
}
