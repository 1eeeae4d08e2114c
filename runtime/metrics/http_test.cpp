// SPDX-License-Identifier: Apache-2.0
#include "runtime/metrics/http.hpp"

#include <string>
#include <thread>
#include <vector>

#include "kernels/core/errc.hpp"
#include "runtime/metrics/peers_json.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using namespace std::chrono_literals;

namespace {

const Endpoint kAnyPort{"127.0.0.1", 0};

PoolSnapshot pool_of(std::uint32_t live, std::uint32_t min_peers) {
  PoolSnapshot pool;
  pool.run = "run" + std::to_string(live);
  pool.now.live = live;
  pool.min_peers = min_peers;
  pool.peers.resize(live);
  for (PeerView& peer : pool.peers) peer.name = "p00";
  return pool;
}

}  // namespace

TEST_CASE("the endpoint answers from the newest snapshot", "[metrics]") {
  MetricsServer server(kAnyPort);
  CHECK(server.address().port != 0);
  const auto get = [&](const std::string& target) {
    return http_get(server.address(), target, 5s);
  };
  CHECK(get("/healthz").status == 503);  // nobody is there yet
  CHECK(get("/metrics").status == 200);
  server.publish(pool_of(2, 2));
  CHECK(get("/healthz").body == "ok\n");
  CHECK(get("/metrics").body.find("run=\"run2\"") != std::string::npos);
  const auto pool = read_peers_json(get("/peers.json?x=1").body);
  REQUIRE(pool);
  CHECK(pool->peers.size() == 2);
  server.publish(pool_of(1, 2));
  CHECK(get("/healthz").body == "1 peers live, --min-peers asks for 2\n");
  CHECK(get("/healthz").status == 503);
  CHECK(get("/").status == 404);
  CHECK(get("/metrics/").status == 404);
}

TEST_CASE("many ask at once, and everyone gets a whole page", "[metrics]") {
  MetricsServer server(kAnyPort);
  server.publish(pool_of(40, 1));
  const std::string page = http_get(server.address(), "/metrics", 5s).body;
  std::vector<std::string> pages(8);
  std::vector<std::thread> readers;
  for (std::string& mine : pages) {
    readers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) mine = http_get(server.address(), "/metrics", 5s).body;
    });
  }
  for (std::thread& reader : readers) reader.join();
  for (const std::string& mine : pages) CHECK(mine == page);
}

TEST_CASE("a port that is taken, or an address of another machine, is one clear line",
          "[metrics]") {
  MetricsServer server(kAnyPort);
  CHECK_THROWS_AS(MetricsServer(server.address()), hearsay::kernels::UsageError);
  CHECK_THROWS_WITH(MetricsServer(server.address()),
                    Catch::Contains("--metrics 127.0.0.1:") && Catch::Contains("in use"));
  CHECK_THROWS_AS(MetricsServer(Endpoint{"192.0.2.1", 0}), hearsay::kernels::UsageError);
}

TEST_CASE("nobody there is an error and no wait", "[metrics]") {
  Endpoint gone;
  {
    MetricsServer server(kAnyPort);
    gone = server.address();
  }
  const HttpAnswer answer = http_get(gone, "/peers.json", 5s);
  CHECK(answer.error == "Connection refused");
  CHECK(answer.status == 0);
}
