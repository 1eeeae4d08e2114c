// SPDX-License-Identifier: Apache-2.0
#include "runtime/metrics/peers_json.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "runtime/launch/json_fields.hpp"
#include "runtime/launch/status_json.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

constexpr std::uint64_t kMostPid = std::numeric_limits<int>::max();
constexpr std::uint64_t kMostPeers = std::numeric_limits<std::uint32_t>::max();

// False when the key holds neither a number nor null.
bool read_number_or_null(const Json& j, const char* key, std::optional<double>& value) {
  const auto found = j.find(key);
  if (found == j.end() || !(found->is_number() || found->is_null())) return false;
  if (found->is_number()) value = found->get<double>();
  return true;
}

std::optional<PeerView> read_peer(const Json& j) {
  JsonFields f(j);
  PeerView view;
  view.name = f.text("peer");
  view.ended = f.text("ended");
  const std::uint64_t pid = f.count("pid");
  view.pid = static_cast<int>(std::min<std::uint64_t>(pid, kMostPid));
  auto status = f.ok() && pid <= kMostPid ? read_status(j) : std::nullopt;
  if (!status || view.name.empty()) return std::nullopt;
  view.status = std::move(*status);
  return view;
}

}  // namespace

Json peers_json(const PoolSnapshot& pool) {
  Json j;
  j["run"] = pool.run;
  j["wall_s"] = pool.now.wall_s;
  j["live"] = pool.now.live;
  j["min_peers"] = pool.min_peers;
  j["target"] = number_or_null(pool.now.target);
  j["target_now"] = number_or_null(pool.now.target_now);
  j["peers"] = Json::array();
  for (const PeerView& view : pool.peers) {
    Json peer{{"peer", view.name}, {"pid", view.pid}, {"ended", view.ended}};
    peer.update(status_json(view.status));
    j["peers"].push_back(std::move(peer));
  }
  return j;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<PoolSnapshot> read_peers_json(std::string_view text) {
  const Json j = Json::parse(text, nullptr, false);
  JsonFields f(j);
  PoolSnapshot pool;
  pool.run = f.text("run");
  pool.now.wall_s = f.number("wall_s");
  const std::uint64_t live = f.count("live"), min_peers = f.count("min_peers");
  pool.now.live = static_cast<std::uint32_t>(live);
  pool.min_peers = static_cast<std::uint32_t>(min_peers);
  const Json& peers = f.child("peers");
  if (!f.ok() || live > kMostPeers || min_peers > kMostPeers || !peers.is_array() ||
      !read_number_or_null(j, "target", pool.now.target) ||
      !read_number_or_null(j, "target_now", pool.now.target_now))
    return std::nullopt;
  for (const Json& each : peers) {
    auto peer = read_peer(each);
    if (!peer) return std::nullopt;
    pool.peers.push_back(std::move(*peer));
  }
  return pool;
}

}  // namespace hearsay::runtime
