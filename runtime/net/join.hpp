// SPDX-License-Identifier: Apache-2.0
// First contact by hand. Before a pool has started its first peer gathers: whoever was given its
// address asks to be let in, waits, and is told its place when enough are there. Once a pool runs
// any member answers at once (lane_admission.cpp). Here is the side that asks, and what the first
// peer decides. Runs on the caller's thread and its own event loop; every wait calls `tick` twice a
// second and ends when that returns false. Cost: one short connection a peer.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/net/join_text.hpp"
#include "runtime/net/security.hpp"

namespace hearsay::runtime {

struct Gathering {
  using Requests = std::vector<JoinRequest>;
  std::size_t wanted = 0;  // peers to wait for
  // Empty: it may wait with those who are here; else the reason why not.
  std::function<std::string(const JoinRequest& request, const Requests& here)> judge;
  std::function<std::vector<JoinAnswer>(const Requests& here)> answers;  // once all are there
  std::function<std::string(std::size_t here)> waiting;                  // what those who wait hear
  std::function<bool(std::size_t here)> tick;
  std::function<void(const std::string& who)> refused{};  // who is not authenticated, once a reason
};

class JoinClient {
 public:
  using Tick = std::function<bool()>;
  // One try, at most kHandshakeTimeout. fault() says why there is no connection.
  JoinClient(const Endpoint& member, const Tick& tick,
             std::shared_ptr<Security> security = nullptr);
  JoinClient(JoinClient&&) noexcept;
  ~JoinClient();

  const std::string& fault() const noexcept { return fault_; }
  bool is_unproven() const noexcept { return unproven_; }  // the fault: asking again will not help
  std::string local_host() const;  // this machine's address as the member reaches it

  struct Reply {
    enum class What {
      place,
      busy,
      refused,  // `text` says why; asking again will not help
      foreign,  // whoever answers is no hearsay peer, or speaks another version
      lost,     // no answer, or it went away; `text` says what happened
      given_up  // by `tick`
    } what = What::lost;
    std::string text;
    JoinAnswer answer;  // of place and busy
  };
  // `waiting` hears what the member waits for.
  Reply ask(const JoinRequest& request, const Tick& tick,
            const std::function<void(const std::string&)>& waiting);

 private:
  struct Open;
  std::unique_ptr<Open> open_;
  std::string fault_;
  bool unproven_ = false;
};

}  // namespace hearsay::runtime
