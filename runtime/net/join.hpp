// SPDX-License-Identifier: Apache-2.0
// First contact by hand, before frames: peers that were given the address of the first one ask it
// to let them in; when all are there, it tells each its place. Runs on the caller's thread and its
// own event loop; every wait calls `tick` twice a second and ends when that returns false. Texts
// are JSON of the caller's. Cost: one short connection a peer.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/net/endpoint.hpp"

namespace hearsay::runtime {

struct Gathering {
  std::size_t wanted = 0;  // peers to wait for
  // Empty: it may come in as number `index` (from 0); else the reason why not.
  std::function<std::string(std::size_t index, const std::string& request)> judge;
  std::function<std::string(std::size_t index)> answer;  // once all are there
  std::function<bool(std::size_t here)> tick;
};

class JoinClient {
 public:
  // Dials the first peer until it answers. `tick` hears what is wrong so far. Empty when `tick`
  // gave up.
  using Tick = std::function<bool(const std::string& why)>;
  static std::optional<JoinClient> dial(const Endpoint& first, const Tick& tick);
  JoinClient(JoinClient&&) noexcept;
  ~JoinClient();

  std::string local_host() const;  // this machine's address as the first peer reaches it
  // The first peer's answer, when all are there. Empty when `tick` gave up. Throws UsageError with
  // its reason when it refuses, or when it went away.
  std::optional<std::string> ask(const std::string& request, const Tick& tick);

 private:
  struct Open;
  explicit JoinClient(std::unique_ptr<Open> open);
  std::unique_ptr<Open> open_;
};

}  // namespace hearsay::runtime
