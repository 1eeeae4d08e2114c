// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/sketch_ops.hpp"

#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/sketch_api.h"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

std::vector<float> awkward_values(std::size_t n) {
  auto rng = Rng::stream(51, "sketch-test");
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(rng.normal()) * (rng.below(50) == 0 ? 1e5f : 1.0f);
  for (std::size_t i = 0; i < n; i += 11) x[i] = i % 2 == 0 ? -0.0f : 0.0f;
  return x;
}

}  // namespace

TEST_CASE("sketches have the bits of the CPU's") {
  SketchPlan plan;
  plan.buckets = GENERATE(1024u, 3072u, 16384u, 65536u);
  plan.rows = GENERATE(1u, 2u, 3u, 4u);
  plan.seed = 0xABCDEF0123456789ull;
  const std::size_t n = GENERATE(0u, 1u, 7u, 1023u, 4097u, 100'003u, 1'400'003u);
  const std::size_t shift = GENERATE(0u, 1u);
  CAPTURE(plan.buckets, plan.rows, n, shift);
  const auto x = awkward_values(n);
  std::vector<float> y(sketch_values(plan));
  OneWorker worker;
  sketch(plan, x, y, worker);
  const DeviceArray<float> d_x(x, shift), d_y(y.size());
  const DeviceArray<std::uint8_t> workspace(hs_cuda_sketch_workspace(plan.buckets, plan.rows, n));
  must(hs_cuda_sketch(plan.buckets, plan.rows, plan.seed, d_x.data(), n, workspace.data(),
                      d_y.data(), nullptr),
       "sketch");
  CHECK((d_y.host() == y));
  CHECK((d_x.guards_hold() && d_y.guards_hold() && workspace.guards_hold()));
}

TEST_CASE("a chain of many visits draws new signs as the CPU does") {
  const SketchPlan plan{1024, GENERATE(1u, 4u), 3};
  const auto x = awkward_values(1024 * 256 * 70 + 5);
  std::vector<float> y(sketch_values(plan));
  OneWorker worker;
  sketch(plan, x, y, worker);
  const DeviceArray<float> d_x(x), d_y(y.size());
  const DeviceArray<std::uint8_t> workspace(
      hs_cuda_sketch_workspace(plan.buckets, plan.rows, x.size()));
  must(hs_cuda_sketch(plan.buckets, plan.rows, plan.seed, d_x.data(), x.size(), workspace.data(),
                      d_y.data(), nullptr),
       "sketch");
  CHECK((d_y.host() == y));
}

TEST_CASE("the SRHT has the bits of the CPU's") {
  const std::size_t n = GENERATE(0u, 1u, 4095u, 4096u, 4097u, 3'000'001u, 40'000'007u);
  const std::uint32_t kept = GENERATE(0u, 1u, 1000u, 4096u);
  const std::size_t shift = GENERATE(0u, 1u);
  CAPTURE(n, kept, shift);
  const auto x = awkward_values(n);
  std::vector<float> y(kept);
  OneWorker worker;
  srht(17, x, y, worker);
  const DeviceArray<float> d_x(x, shift), d_y(kept);
  const DeviceArray<std::uint16_t> d_kept(srht_coordinates(17, kept));
  const DeviceArray<std::uint8_t> workspace(hs_cuda_srht_workspace(n));
  must(hs_cuda_srht(17, d_kept.data(), kept, d_x.data(), n, workspace.data(), d_y.data(), nullptr),
       "srht");
  CHECK((d_y.host() == y));
  CHECK((d_x.guards_hold() && d_y.guards_hold() && workspace.guards_hold()));
}

TEST_CASE("plans that are not valid are an error") {
  CHECK(hs_cuda_sketch(1000, 1, 0, nullptr, 0, nullptr, nullptr, nullptr) != 0);
  CHECK(hs_cuda_sketch(1024, 5, 0, nullptr, 0, nullptr, nullptr, nullptr) != 0);
  CHECK(hs_cuda_sketch(0, 1, 0, nullptr, 0, nullptr, nullptr, nullptr) != 0);
  CHECK(hs_cuda_srht(0, nullptr, 4097, nullptr, 0, nullptr, nullptr, nullptr) != 0);
}
