// SPDX-License-Identifier: Apache-2.0
#include "runtime/metrics/served_display.hpp"

#include <unistd.h>

#include <iostream>

namespace hearsay::runtime {

ServedDisplay::ServedDisplay(const RunConfig& config, PoolDisplay& next) : next_(next) {
  pool_.min_peers = config.min_peers;
  if (!config.metrics) return;
  const Endpoint listen = parse_endpoint("--metrics", *config.metrics);
  server_ = std::make_unique<MetricsServer>(listen);
  server_->publish(pool_);
  // Said by --quiet too when nobody else knows the port.
  if (!config.quiet || listen.port == 0)
    std::cerr << "metrics  http://" << server_->address().text() << "/metrics" << std::endl;
}

void ServedDisplay::set_run(const std::string& name, std::uint32_t min_peers) {
  pool_.run = name;
  pool_.min_peers = min_peers;
}

void ServedDisplay::update_pool(const PoolNow& now) {
  pool_.now = now;
  next_.update_pool(now);
}

void ServedDisplay::update(const std::vector<PeerView>& peers) {
  next_.update(peers);
  if (server_ == nullptr) return;
  pool_.peers = peers;
  server_->publish(pool_);
}

void ServedPeer::begin(const RunConfig& pool, const std::string& run, const std::string& peer) {
  display_.set_run(run, pool.min_peers);
  peer_ = peer;
}

void ServedPeer::update(const PeerStatus& status) {
  PoolNow now;
  now.wall_s = status.clock_s;
  now.live = 1 + status.partners_alive;
  display_.update_pool(now);
  PeerView view;
  view.name = peer_;
  view.status = status;
  view.pid = static_cast<int>(getpid());
  display_.update({view});
}

}  // namespace hearsay::runtime
