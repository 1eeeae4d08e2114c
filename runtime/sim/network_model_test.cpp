// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/network_model.hpp"

#include <cmath>

#include "kernels/core/errc.hpp"
#include "runtime/sim/compute_model.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::gossip::Time;
using hearsay::kernels::PeerId;
using namespace std::chrono_literals;

namespace {
NetworkOptions network(const char* text) { return parse_network(parse_spec("--net", text)); }
ComputeOptions compute(const char* text) { return parse_compute(parse_spec("--compute", text)); }
}  // namespace

TEST_CASE("a lan link sends one frame after the other at 1 Gb/s and 0.2 ms") {
  NetworkModel lan(network("lan"), 3, 1);
  CHECK(lan.arrival(PeerId(0), PeerId(1), 125'000, 0ms) == 1200us);
  CHECK(lan.arrival(PeerId(0), PeerId(2), 125'000, 0ms) == 2200us);  // waits for the first
  CHECK(lan.arrival(PeerId(1), PeerId(2), 125'000, 0ms) == 1200us);  // another link
  CHECK(lan.arrival(PeerId(0), PeerId(1), 0, 10ms) == 10ms + 200us);
}

TEST_CASE("an ideal network takes no time; jitter never reorders a pair's frames") {
  NetworkModel ideal(network("ideal"), 2, 1);
  CHECK(ideal.arrival(PeerId(0), PeerId(1), 1'000'000'000, 7ms) == 7ms);
  NetworkModel shaky(network("link:bandwidth=100Mb/s,latency=1ms,jitter=50ms"), 2, 1);
  Time last{0};
  bool varied = false;
  for (int i = 0; i < 200; ++i) {
    const Time at = shaky.arrival(PeerId(0), PeerId(1), 100, Time(i * 1000));
    CHECK(at >= last);
    varied = varied || at - last > 5ms;
    last = at;
  }
  CHECK(varied);
}

TEST_CASE("compute times are exact when fixed and have the asked mean and spread with jitter") {
  ComputeModel fixed(compute("fixed:5ms"), 2, 1);
  fixed.slow_down(PeerId(1), 4.0);
  CHECK(fixed.step_time(PeerId(0)) == 5ms);
  CHECK(fixed.step_time(PeerId(1)) == 20ms);
  ComputeModel jitter(compute("jitter:cv=0.3"), 1, 1);
  double sum = 0, sum2 = 0;
  for (int i = 0; i < 40'000; ++i) {
    const double ms =
        std::chrono::duration<double, std::milli>(jitter.step_time(PeerId(0))).count();
    sum += ms;
    sum2 += ms * ms;
  }
  const double mean = sum / 40'000;
  CHECK(mean == Approx(1.0).epsilon(0.01));
  CHECK(std::sqrt(sum2 / 40'000 - mean * mean) == Approx(0.3).epsilon(0.05));
}

TEST_CASE("network and compute specs are refused by name") {
  for (const char* bad : {"lann", "lan:5", "link:bandwidth=1GB", "link:speed=1"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(network(bad), hearsay::kernels::UsageError);
  }
  for (const char* bad : {"fix", "fixed:0ms", "jitter:cv=-1", "jitter:sd=1"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(compute(bad), hearsay::kernels::UsageError);
  }
}
