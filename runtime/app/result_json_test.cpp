// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/result_json.hpp"

#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

PoolResult two_peers() {
  PoolResult result;
  result.wall_s = 12.34;
  result.peers.resize(2);
  for (PeerResult& peer : result.peers) peer.alive = true;
  return result;
}

RunConfig with_target() {
  RunConfig config;
  config.target = Target{"test_acc", 0.5};
  return config;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a live pool's result has no virtual time and says what its peers measured") {
  PoolResult result = two_peers();
  result.training_share = 0.875;
  result.io_cpu_share = 0.025;
  result.peak_rss_bytes_mean = 2e7;
  result.target_reached_s = 3.0;
  result.peers[1].peak_rss_bytes = 20'000'000;
  result.peers[1].cpu_s = 11.0;
  const auto json = result_json(result);
  CHECK(json.at("virtual_s").is_null());
  CHECK(json.at("training_share") == 0.875);
  CHECK(json.at("io_cpu_share") == 0.025);
  CHECK(json.at("peak_rss_bytes_mean") == 2e7);
  CHECK(json.at("per_peer")[1].at("peak_rss_bytes") == 20'000'000);
  CHECK(json.at("per_peer")[1].at("cpu_s") == 11.0);
  CHECK_FALSE(json.at("per_peer")[0].contains("cpu_s"));
  CHECK_FALSE(json.at("per_peer")[0].contains("peak_rss_bytes"));
  const std::string text = closing_block(result, with_target(), "runs/x");
  CHECK(has(text,
            "time     12.3 s wall    88 % of the peers' time in mini-batches, 2.5 % of "
            "CPU for sockets\n"));
  CHECK(has(text, "after 3.000 s\n"));
  CHECK_FALSE(has(text, "virtual"));
}

TEST_CASE("a live pool that measured nothing gives its wall time alone") {
  const PoolResult result = two_peers();
  CHECK(result_json(result).at("training_share").is_null());
  CHECK_FALSE(result_json(result).contains("io_cpu_share"));
  CHECK(has(closing_block(result, {}, "runs/x"), "\ntime     12.3 s wall\n"));
}

TEST_CASE("a simulated pool's result has virtual time") {
  PoolResult result = two_peers();
  result.virtual_s = 1.5;
  result.training_share = 0.5;
  result.target_reached_s = 0.25;
  CHECK(result_json(result).at("virtual_s") == 1.5);
  const std::string text = closing_block(result, with_target(), "runs/x");
  CHECK(has(text,
            "time     12.3 s wall, 1.500 s virtual    50 % of the threads' time in "
            "mini-batches\n"));
  CHECK(has(text, "after 0.250 virtual s\n"));
}
