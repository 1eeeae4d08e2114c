// SPDX-License-Identifier: Apache-2.0
// HTTP, as much of it as the metrics endpoint and its readers need, by Boost.Beast; nothing else
// knows that library. One request a connection.
//
// Server: GET /metrics, /healthz and /peers.json out of the newest snapshot. A client is given
// kRequestTime to ask and kAnswerTime to take the answer; a header has at most kMostHeaderBytes;
// beyond kMostConnections the oldest gives way, so idle ones keep nobody out. Answers are made once
// a snapshot, however often they are asked for.
// Lane: a thread of its own; publish() from any other. Cost: nothing while nobody asks.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "runtime/metrics/pool_snapshot.hpp"
#include "runtime/net/endpoint.hpp"

namespace hearsay::runtime {

class MetricsServer {
 public:
  static constexpr std::size_t kMostConnections = 64, kMostHeaderBytes = 8192;
  static constexpr std::chrono::seconds kRequestTime{5}, kAnswerTime{10};

  // Binds, listens and begins to answer. Throws UsageError when that is not possible.
  explicit MetricsServer(const Endpoint& listen);
  ~MetricsServer();  // cuts off whoever is being answered
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  Endpoint address() const;  // with the port that the system chose
  void publish(PoolSnapshot pool);

 private:
  class Lane;
  std::unique_ptr<Lane> lane_;
};

struct HttpAnswer {
  std::string error;  // why there is no answer; empty when there is one
  bool is_foreign = false;  // there is one, but it is no HTTP
  unsigned status = 0;
  std::string body;  // at most 64 MiB
};

// Waits for the answer, at most that long (finding the address of a name may add to it).
HttpAnswer http_get(const Endpoint& server, const std::string& target,
                    std::chrono::milliseconds at_most);

}  // namespace hearsay::runtime
