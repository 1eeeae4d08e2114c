// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/moving_average_ops.hpp"

#include <cmath>

#include "kernels/cuda/merge_test_support.hpp"
#include "kernels/cuda/moving_average_api.h"
#include "kernels/ops/merge_test_data.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

void check_result(const HsMovingResult& result, const MovingResult& expected) {
  CHECK(float_bits(result.tau) == float_bits(expected.tau));
  CHECK(result.kept == expected.kept);
  CHECK(result.above == expected.above);
  CHECK(result.bad == expected.bad);
  CHECK(std::equal(expected.coarse.begin(), expected.coarse.end(), result.coarse));
  CHECK(std::equal(expected.zoom.begin(), expected.zoom.end(), result.zoom));
}

// Steps that follow each other on the device without the host, as they do in training.
template <typename T>
void check_steps(std::size_t n, bool is_squared, std::uint64_t keep, std::size_t shift) {
  CAPTURE(sizeof(T), n, is_squared, keep, shift);
  auto sizes = test_values(n, "ma");
  for (float& x : sizes) x = std::fabs(x);
  auto ma = stored_as<T>(sizes);
  std::vector<std::uint32_t> mask((n + 31) / 32);
  const DeviceArray<T> d_ma(ma, shift);
  const DeviceArray<std::uint32_t> d_mask(mask.size());
  const DeviceArray<float> d_tau(std::vector<float>{0.0f});
  const Workspace workspace(hs_cuda_moving_average_workspace_bytes());
  const DeviceArray<HsMovingResult> d_result(1);
  OneWorker alone;
  float tau = 0.0f;
  for (std::uint64_t step = 0; step < 4; ++step) {
    CAPTURE(step);
    auto g = test_values(n, step % 2 == 0 ? "g0" : "g1");
    poison(g, 89);
    const DeviceArray<float> d_g(g);
    const HsMovingAverage average{d_ma.data(), d_g.data(),     d_mask.data(), d_tau.data(), n,
                                  0.9f,        sizeof(T) == 2, is_squared,    77,           step,
                                  keep};
    must(hs_cuda_moving_average(&average, workspace.data(), d_result.data(), nullptr), "average");
    const MovingRule rule{0.9f, is_squared, 77, step, keep, tau};
    const MovingResult expected = moving_average(std::span(ma), g, mask, rule, alone);
    check_result(d_result.host()[0], expected);
    tau = expected.tau;
    CHECK(same_bits(d_tau.host(), std::vector<float>{tau}));
    CHECK(same_bits(d_ma.host(), ma));
    CHECK(same_bits(d_mask.host(), mask));
    CHECK((d_ma.guards_hold() && d_g.guards_hold() && d_mask.guards_hold() && d_tau.guards_hold()));
    CHECK((d_result.guards_hold() && workspace.is_as_promised()));
  }
}

}  // namespace

TEST_CASE("averages, masks, counts and thresholds agree with the CPU") {
  const std::size_t n = GENERATE(0u, 1u, 31u, 33u, 255u, 4096u, 4097u, 65'537u, 1'000'003u);
  const bool is_squared = GENERATE(false, true);
  for (const std::size_t shift : {0u, 1u}) {
    for (const std::uint64_t keep :
         {std::uint64_t{1}, std::uint64_t{n / 100}, std::uint64_t{n} + 1}) {
      check_steps<float>(n, is_squared, keep, shift);
      check_steps<Bf16>(n, is_squared, keep, shift);
    }
  }
}

TEST_CASE("no mask, and averages that are all equal") {
  const std::vector<float> ma(20'000, 0.75f), g(ma.size(), 0.0f);
  const DeviceArray<float> d_ma(ma), d_g(g), d_tau(std::vector<float>{0.0f});
  const Workspace workspace(hs_cuda_moving_average_workspace_bytes());
  const DeviceArray<HsMovingResult> d_result(1);
  const HsMovingAverage average{d_ma.data(), d_g.data(), nullptr, d_tau.data(), ma.size(), 1.0f, 0,
                                0,           0,          0,       5'000};
  for (int step = 0; step < 3; ++step)
    must(hs_cuda_moving_average(&average, workspace.data(), d_result.data(), nullptr), "average");
  CHECK(d_tau.host()[0] == Approx(0.75f).epsilon(0.001));
  CHECK(same_bits(d_ma.host(), ma));
}
