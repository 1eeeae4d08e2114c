// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/merge_ops.hpp"

#include <cstring>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/merge_api.h"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

std::vector<float> random_values(std::size_t n, const char* purpose) {
  auto rng = Rng::stream(7, purpose);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(rng.normal()) * (rng.below(50) == 0 ? 1e4f : 1.0f);
  return values;
}

}  // namespace

TEST_CASE("blends agree with the CPU bit for bit") {
  const std::size_t n =
      GENERATE(0u, 1u, 3u, 4u, 5u, 31u, 255u, 256u, 257u, 4095u, 4096u, 4097u, 1'000'003u);
  const float alpha = GENERATE(0.0f, 0.1f, 0.5f, 1.0f);
  const bool with_base = GENERATE(false, true);
  const std::size_t shift = GENERATE(0u, 1u, 2u);
  CAPTURE(n, alpha, with_base, shift);
  auto w = random_values(n, "w");
  const auto in = random_values(n, "in"), base = random_values(n, "base");
  const DeviceArray<float> d_w(w, shift), d_in(in, shift), d_base(base, shift);
  must(hs_cuda_merge_blend(alpha, d_w.data(), d_in.data(), with_base ? d_base.data() : nullptr, n,
                           nullptr),
       "blend");
  const auto result = d_w.host();
  merge_blend(alpha, w, in, with_base ? std::span<const float>(base) : std::span<const float>{},
              {});
  CHECK((n == 0 || std::memcmp(result.data(), w.data(), n * sizeof(float)) == 0));
  CHECK(d_w.guards_hold());
  CHECK((d_in.guards_hold() && d_base.guards_hold()));
}

TEST_CASE("blends with a mark agree with the CPU bit for bit") {
  const std::size_t n =
      GENERATE(0u, 1u, 3u, 4u, 5u, 31u, 256u, 257u, 4095u, 4096u, 4097u, 100'003u);
  const float alpha = GENERATE(0.0f, 0.1f, 0.5f, 1.0f);
  const bool with_base = GENERATE(false, true);
  const std::size_t shift = GENERATE(0u, 1u);
  CAPTURE(n, alpha, with_base, shift);
  auto w = random_values(n, "w"), mark = random_values(n, "mark");
  const auto in = random_values(n, "in"), base = random_values(n, "base");
  const DeviceArray<float> d_w(w, shift), d_in(in), d_base(base), d_mark(mark);
  must(hs_cuda_merge_blend_mark(alpha, d_w.data(), d_in.data(), with_base ? d_base.data() : nullptr,
                                d_mark.data(), n, nullptr),
       "blend");
  const auto result = d_w.host(), moved = d_mark.host();
  merge_blend(alpha, w, in, with_base ? std::span<const float>(base) : std::span<const float>{},
              mark);
  CHECK((n == 0 || std::memcmp(result.data(), w.data(), n * sizeof(float)) == 0));
  CHECK((n == 0 || std::memcmp(moved.data(), mark.data(), n * sizeof(float)) == 0));
  CHECK((d_w.guards_hold() && d_mark.guards_hold()));
  CHECK((d_in.guards_hold() && d_base.guards_hold()));
}
