// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/vector_ops.hpp"

#include "kernels/cuda/merge_test_support.hpp"
#include "kernels/cuda/vector_api.h"
#include "kernels/ops/merge_ops.hpp"
#include "kernels/ops/merge_test_data.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

const std::vector<std::size_t> kSizes = {0, 1, 3, 255, 4095, 4096, 4097, 65'537, 4096 * 1025 + 5};

}  // namespace

TEST_CASE("sums agree with the CPU bit for bit") {
  const std::size_t n = GENERATE(from_range(kSizes)), shift = GENERATE(0u, 1u);
  CAPTURE(n, shift);
  const auto x = test_values(n, "x"), y = test_values(n, "y");
  const DeviceArray<float> d_x(x, shift), d_y(y);
  const Workspace workspace(hs_cuda_sums_workspace_bytes(n));
  const DeviceArray<double> d_result(1);
  OneWorker alone;
  must(hs_cuda_dot(d_x.data(), d_y.data(), n, workspace.data(), d_result.data(), nullptr), "dot");
  CHECK(same_bits(d_result.host()[0], dot(x, y, alone)));
  must(hs_cuda_dot(d_x.data(), nullptr, n, workspace.data(), d_result.data(), nullptr), "norm");
  CHECK(same_bits(d_result.host()[0], squared_norm(x, alone)));
  must(hs_cuda_squared_distance(d_x.data(), d_y.data(), n, workspace.data(), d_result.data(),
                                nullptr),
       "distance");
  CHECK(same_bits(d_result.host()[0], squared_distance(x, y)));
  must(hs_cuda_squared_distance(d_y.data(), nullptr, n, workspace.data(), d_result.data(), nullptr),
       "norm");
  CHECK(same_bits(d_result.host()[0], squared_distance(y, {})));
  CHECK(d_result.guards_hold());
  CHECK(workspace.is_as_promised());
}

TEST_CASE("statistics agree with the CPU bit for bit") {
  const std::size_t n = GENERATE(from_range(kSizes));
  const bool with_base = GENERATE(false, true), with_mark = GENERATE(false, true);
  CAPTURE(n, with_base, with_mark);
  auto w = test_values(n, "w"), in = test_values(n, "in");
  const auto base = test_values(n, "base"), mark = test_values(n, "mark");
  const DeviceArray<float> d_base(base), d_mark(mark);
  const Workspace workspace(hs_cuda_sums_workspace_bytes(n));
  const DeviceArray<HsMergeStats> d_result(1);
  using Maybe = std::span<const float>;
  for (const bool is_poisoned : {false, true}) {
    if (is_poisoned) {
      poison(w, 301);
      poison(in, 97);
    }
    const DeviceArray<float> d_w(w), d_in(in);
    must(hs_cuda_merge_stats(d_w.data(), d_in.data(), with_base ? d_base.data() : nullptr,
                             with_mark ? d_mark.data() : nullptr, n, workspace.data(),
                             d_result.data(), nullptr),
         "stats");
    const MergeStats expected =
        merge_stats(w, in, with_base ? Maybe(base) : Maybe(), with_mark ? Maybe(mark) : Maybe());
    const HsMergeStats result = d_result.host()[0];
    CHECK(result.bad == expected.bad);
    if (expected.bad == 0) {  // else sums are not numbers
      CHECK(same_bits(result.displacement_sq, expected.displacement_sq));
      CHECK(same_bits(result.weights_sq, expected.weights_sq));
      CHECK(same_bits(result.local_sq, expected.local_sq));
      CHECK(same_bits(result.dot, expected.dot));
    }
    CHECK(d_result.guards_hold());
    CHECK(workspace.is_as_promised());
  }
}

TEST_CASE("axpy agrees with the CPU bit for bit") {
  const std::size_t n = GENERATE(from_range(kSizes)), shift = GENERATE(0u, 1u);
  const auto x = test_values(n, "x");
  auto y = test_values(n, "y");
  const DeviceArray<float> d_x(x), d_y(y, shift);
  OneWorker alone;
  must(hs_cuda_axpy(0.3f, d_x.data(), d_y.data(), n, nullptr), "axpy");
  axpy(0.3f, x, y, alone);
  CHECK(same_bits(d_y.host(), y));
  CHECK((d_y.guards_hold() && d_x.guards_hold()));
}
