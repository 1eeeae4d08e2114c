// SPDX-License-Identifier: Apache-2.0
// What a person may see of a live pool, and the interface of whoever shows it. The watcher calls
// from its one thread, update() at most four times a second, so an implementation needs no lock but
// may not wait: while it does, nobody watches the pool. Plain data, no I/O here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/launch/peer_status.hpp"

namespace hearsay::runtime {

struct PeerView {
  std::string name;   // "p03"
  PeerStatus status;  // newest numbers; state `lost` once its process ended badly
  std::string ended;  // how it ended: "finished", "killed by SIGKILL"; empty while it runs
  int pid = 0;        // on its own host
};

// What belongs to no single peer.
struct PoolNow {
  double wall_s = 0.0;               // since the watcher began
  std::uint32_t live = 0;            // neither lost nor given up; those that ended well count
  std::optional<double> target;      // value that --target asks for
  double target_best = 0.0;          // best mean so far
  std::optional<double> target_now;  // newest mean, once every live peer has evaluated
};

class PoolDisplay {
 public:
  virtual ~PoolDisplay() = default;
  virtual void update_pool(const PoolNow&) {}  // comes right before update()
  virtual void update(const std::vector<PeerView>& peers) = 0;
  virtual void notice(const std::string& text) = 0;  // one line per change of state
};

class NullDisplay final : public PoolDisplay {
 public:
  void update(const std::vector<PeerView>&) override {}
  void notice(const std::string&) override {}
};

}  // namespace hearsay::runtime
