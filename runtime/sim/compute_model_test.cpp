// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/compute_model.hpp"

#include <algorithm>

#include "kernels/core/errc.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::PeerId;
using namespace std::chrono_literals;

namespace {

ComputeModel model(const char* text, std::uint32_t peers = 10, std::uint64_t seed = 1) {
  return ComputeModel(parse_compute(parse_spec("--compute", text)), peers, seed);
}

double mean_s(ComputeModel& compute, std::uint32_t peer, int draws) {
  double sum = 0.0;
  for (int i = 0; i < draws; ++i)
    sum += std::chrono::duration<double>(compute.step_time(PeerId(peer))).count();
  return sum / draws;
}

}  // namespace

TEST_CASE("a share of the peers is slower, drawn from the seed") {
  auto compute = model("fixed:2ms,stragglers=30%*4");
  int slow = 0;
  for (std::uint32_t i = 0; i < 10; ++i) {
    const auto time = compute.step_time(PeerId(i));
    CHECK((time == 2ms || time == 8ms));
    slow += time == 8ms;
  }
  CHECK(slow == 3);
}

TEST_CASE("pauses add their share of their mean, and jitter keeps the mean") {
  auto compute = model("jitter:cv=0.3,step=1ms,pause=2%*50ms");
  CHECK(mean_s(compute, 0, 40'000) == Approx(1e-3 + 0.02 * 50e-3).epsilon(0.06));
}

TEST_CASE("what is no share, factor or time is refused") {
  for (const char* text :
       {"fixed:stragglers=4", "fixed:stragglers=200%*2", "fixed:stragglers=10%*0",
        "jitter:pause=1%", "jitter:pause=1%*x", "jitter:pauses=1%*2s", "fixed:pause=1%*2h"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_compute(parse_spec("--compute", text)), hearsay::kernels::UsageError);
  }
}
