// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/bench_net.hpp"

#include <vector>

#include "kernels/core/errc.hpp"
#include "runtime/bench/net_processes.hpp"
#include "runtime/bench/net_workload.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE("two processes swap weights and both end in the middle") {
  const NetRow row = GENERATE(0, 1) == 0 ? bench_swap(1001) : bench_exchange(1001);
  CHECK(row.wrong == 0);
  CHECK((row.bytes == 4004 && row.wire_bytes == 4068));
  std::vector<float> means(1001);
  const std::uint32_t last = net_workload::rounds_for(1001).total() - 1;
  for (std::size_t i = 0; i < means.size(); ++i) {
    means[i] = 0.5f * (net_workload::value_of(0, last, i) + net_workload::value_of(1, last, i));
  }
  CHECK(row.digest == hearsay::kernels::digest(means));
}

TEST_CASE("streams and control frames arrive as they were sent") {
  CHECK(bench_stream(1001).wrong == 0);
  const NetRow latency = bench_latency();
  CHECK(latency.wrong == 0);
  CHECK((latency.p50_s > 0.0 && latency.p99_s >= latency.p50_s));
}

TEST_CASE("the ring's sums are exact for any number of processes and any slices") {
  const std::uint32_t processes = GENERATE(2u, 3u, 4u);
  const std::size_t values = GENERATE(as<std::size_t>{}, 4, 1003);
  CAPTURE(processes, values);
  const NetRow row = bench_allreduce(values, processes);
  CHECK(row.wrong == 0);
  CHECK(row.processes == processes);
}

TEST_CASE("wrong values are counted") {
  std::vector<float> values(100);
  net_workload::fill(values, 1, 5);
  CHECK(net_workload::wrong_copies(values, 1, 5) == 0);
  values[7] += 1.0f;
  CHECK(net_workload::wrong_copies(values, 1, 5) == 1);
  CHECK(net_workload::wrong_copies(values, 1, 6) > 90);
  CHECK(net_workload::wrong_copies(values, 0, 5) > 90);
}

TEST_CASE("a process that fails ends the others and the call") {
  using hearsay::kernels::Fault;
  const auto fails_in = [](std::uint32_t who) {
    return [who](NetPeer& peer) {
      if (peer.self() == who) throw Fault(hearsay::kernels::ExitCode::usage, "on purpose");
      peer.meet();
      return NetReport{};
    };
  };
  const std::uint32_t who = GENERATE(0u, 1u);
  CHECK_THROWS_AS(run_processes(3, 1, fails_in(who)), Fault);
}
