// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/delta_ops.hpp"

#include "kernels/cuda/delta_api.h"
#include "kernels/cuda/merge_test_support.hpp"
#include "kernels/ops/merge_test_data.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

TEST_CASE("deltas in every mode agree with the CPU bit for bit") {
  const std::size_t n = GENERATE(0u, 1u, 255u, 4096u, 4097u, 65'537u, 4096u * 1030u);
  const int momentum = GENERATE(0, 1, 2);
  const bool has_error = GENERATE(false, true), in_place = GENERATE(false, true);
  const bool refresh = GENERATE(false, true);
  const std::size_t shift = GENERATE(0u, 1u);
  // More than one group of tiles: once, everything on.
  if (n > 100'000 && !(momentum == 2 && has_error && in_place && refresh && shift == 0)) return;
  CAPTURE(n, momentum, has_error, in_place, refresh, shift);
  auto w = test_values(n, "w"), anchor = test_values(n, "anchor"), m = test_values(n, "m", 0.1f);
  auto error = test_values(n, "error", 1e-3f);
  std::vector<float> out(n);
  poison(w, 71);
  poison(error, 203);
  const DeviceArray<float> d_w(w, shift), d_anchor(anchor), d_m(m), d_error(error), d_out(out);
  const Workspace workspace(hs_cuda_delta_workspace_bytes(n));
  const DeviceArray<HsDeltaResult> d_result(1);
  const bool writes_error = has_error && in_place;
  const HsDelta delta_c{d_w.data(),
                        d_anchor.data(),
                        momentum != 0 ? d_m.data() : nullptr,
                        has_error ? d_error.data() : nullptr,
                        writes_error ? d_error.data() : d_out.data(),
                        n,
                        0.9f,
                        momentum == 2,
                        refresh};
  must(hs_cuda_delta(&delta_c, workspace.data(), d_result.data(), nullptr), "delta");
  DeltaArrays arrays{w, anchor, {}, {}, writes_error ? std::span(error) : std::span(out)};
  if (momentum != 0) arrays.momentum = m;
  if (has_error) arrays.error = error;
  OneWorker alone;
  const DeltaResult expected = delta(arrays, {0.9f, momentum == 2, refresh}, alone);
  CHECK(same_bits(d_anchor.host(), anchor));
  CHECK(same_bits(d_m.host(), m));
  CHECK(same_bits(d_error.host(), error));
  CHECK(same_bits(d_out.host(), out));
  const HsDeltaResult result = d_result.host()[0];
  CHECK(same_bits(result.update_sq, expected.update_sq));
  CHECK(result.max_update == expected.max_update);
  CHECK(result.bad == expected.bad);
  CHECK(std::equal(expected.histogram.begin(), expected.histogram.end(), result.histogram));
  CHECK((d_w.guards_hold() && d_anchor.guards_hold() && d_m.guards_hold()));
  CHECK((d_error.guards_hold() && d_out.guards_hold() && d_result.guards_hold()));
  CHECK(workspace.is_as_promised());
}

TEST_CASE("a delta without its outputs leaves all arrays, and Nesterov needs momentum") {
  auto w = test_values(100'000, "w"), anchor = test_values(100'000, "anchor");
  const DeviceArray<float> d_w(w), d_anchor(anchor);
  const Workspace workspace(hs_cuda_delta_workspace_bytes(w.size()));
  const DeviceArray<HsDeltaResult> d_result(1);
  HsDelta delta_c{d_w.data(), d_anchor.data(), nullptr, nullptr, nullptr, w.size(), 0.0f, 0, 0};
  must(hs_cuda_delta(&delta_c, workspace.data(), d_result.data(), nullptr), "delta");
  OneWorker alone;
  const DeltaResult expected = delta({w, anchor, {}, {}, {}}, {}, alone);
  CHECK(same_bits(d_result.host()[0].update_sq, expected.update_sq));
  CHECK(same_bits(d_anchor.host(), anchor));
  CHECK(same_bits(d_w.host(), w));
  delta_c.is_nesterov = 1;
  CHECK(hs_cuda_delta(&delta_c, workspace.data(), d_result.data(), nullptr) ==
        static_cast<int>(cudaErrorInvalidValue));
}
