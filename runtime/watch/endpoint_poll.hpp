// SPDX-License-Identifier: Apache-2.0
// A pool out of the /peers.json of a metrics endpoint, asked twice a second. A server that is not
// there is asked again; one that is something else is an error. Invariant: a merge counts once,
// though each answer holds the newest ones. More than PeerStatus::kNewestMerges of one peer between
// two answers are not all seen. Lane: the viewer's, for a second at most when a server hangs.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/net/endpoint.hpp"
#include "runtime/watch/watched_pool.hpp"

namespace hearsay::runtime {

class EndpointPoll final : public PoolSource {
 public:
  EndpointPoll(Endpoint server, WatchedPool& pool) : server_(std::move(server)), pool_(pool) {}

  bool look() override;
  std::string name() const override { return server_.text(); }

 private:
  using Clock = std::chrono::steady_clock;

  void take(PoolSnapshot fresh);
  void take_merges(const PeerView& view, std::uint64_t seen);
  void tell_changes(const PoolSnapshot& fresh);

  Endpoint server_;
  WatchedPool& pool_;
  std::optional<Clock::time_point> asked_at_, answered_at_;
};

}  // namespace hearsay::runtime
