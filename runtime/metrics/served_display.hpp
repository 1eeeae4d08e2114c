// SPDX-License-Identifier: Apache-2.0
// Shows a pool to people through another display, and with --metrics to whoever asks over HTTP.
// Without the option it only passes on. Lane: that of whoever watches the pool; the endpoint has
// its own. Cost: a copy of the views an update.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/run_config.hpp"
#include "runtime/launch/pool_display.hpp"
#include "runtime/metrics/http.hpp"

namespace hearsay::runtime {

class ServedDisplay final : public PoolDisplay {
 public:
  // Opens the endpoint and says on stderr where it is. `next` outlives this. Throws UsageError.
  ServedDisplay(const RunConfig& config, PoolDisplay& next);

  void set_run(const std::string& name, std::uint32_t min_peers);  // once it is known
  void update_pool(const PoolNow& now) override;
  void update(const std::vector<PeerView>& peers) override;
  void notice(const std::string& text) override { next_.notice(text); }

 private:
  PoolDisplay& next_;
  PoolSnapshot pool_;
  std::unique_ptr<MetricsServer> server_;  // null without --metrics
};

// The same for one peer that nobody watches: it and the partners that it can reach are the pool.
class ServedPeer {
 public:
  explicit ServedPeer(const RunConfig& own) : display_(own, nobody_) {}
  void begin(const RunConfig& pool, const std::string& run, const std::string& peer);
  void update(const PeerStatus& status);

 private:
  NullDisplay nobody_;
  ServedDisplay display_;
  std::string peer_;
};

}  // namespace hearsay::runtime
