// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/load_views.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "clustering/distances.hpp"
#include "gossip/event.hpp"
#include "runtime/report/event_fields.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr std::int64_t kMostId = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMostThousandths = 1'000'000;

// Whole numbers within bounds; none where there is anything else.
std::optional<std::vector<std::int64_t>> wholes_at(const Json& object, const char* key,
                                                   std::int64_t least, std::int64_t most) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_array()) return std::nullopt;
  std::vector<std::int64_t> out;
  out.reserve(found->size());
  for (const Json& each : *found) {
    if (!each.is_number_integer()) return std::nullopt;
    if (each.is_number_unsigned() && each.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
      return std::nullopt;
    const auto value = each.get<std::int64_t>();
    if (value < least || value > most) return std::nullopt;
    out.push_back(value);
  }
  return out;
}

}  // namespace

ViewReader::ViewReader(RunFacts& facts) : facts_(facts) {
  for (PeerIndex i = 0; i < facts.peers.size(); ++i) indices_.emplace(facts.peers[i].name, i);
}

bool ViewReader::read(const LoggedEvent& event, PeerIndex peer, double time_s) {
  if (event.ev == "cluster.updated") {
    view(event, peer, time_s);
  } else if (event.ev == "examples.received") {
    delivery(event, peer, time_s);
  } else if (event.ev == "examples.learned") {
    lessons(event, peer, time_s);
  } else {
    return false;
  }
  return true;
}

std::size_t ViewReader::partition_of(std::vector<std::uint32_t> labels) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t& label : labels)
    label = numbers.emplace(label, static_cast<std::uint32_t>(numbers.size())).first->second;
  const auto [found, is_new] = known_.emplace(std::move(labels), facts_.partitions.size());
  if (is_new) facts_.partitions.push_back(found->first);
  return found->second;
}

// A list has an entry for each place in the pool; places that nobody took have no peer here.
void ViewReader::view(const LoggedEvent& event, PeerIndex peer, double time_s) {
  const std::size_t peers = facts_.peers.size();
  if (peers > clustering::kMostPeers) return;  // no pool that looks for communities
  const auto labels = wholes_at(event.fields, "labels", 0, kMostId);
  if (!labels || labels->empty() || labels->size() > clustering::kMostPeers) return;
  while (places_.size() < labels->size()) {
    const kernels::PeerId id(static_cast<std::uint32_t>(places_.size()));
    const auto found = indices_.find(gossip::peer_name(id));
    places_.push_back(found == indices_.end() ? kNobody : found->second);
  }
  View view;
  view.peer = peer;
  view.time_s = time_s;
  std::vector<std::uint32_t> of_peer(peers, 0);
  const auto distances = wholes_at(event.fields, "distances", -1, kMostThousandths);
  const bool has_distances = distances && distances->size() == labels->size();
  if (has_distances) view.distances.assign(peers, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < labels->size(); ++i) {
    if (places_[i] == kNobody) continue;
    of_peer[places_[i]] = static_cast<std::uint32_t>((*labels)[i]);
    if (has_distances && (*distances)[i] >= 0)
      view.distances[places_[i]] = static_cast<float>((*distances)[i]) / 1000.0f;
  }
  view.partition = partition_of(std::move(of_peer));
  view.silhouette = number_at(event.fields, "silhouette");
  view.agreement = number_at(event.fields, "ari");
  facts_.views.push_back(std::move(view));
}

void ViewReader::delivery(const LoggedEvent& event, PeerIndex peer, double time_s) {
  const auto from = indices_.find(text_at(event.fields, "from"));
  if (from == indices_.end()) return;
  Delivery delivery{from->second, peer, time_s, whole_at(event.fields, "taken"), {}};
  if (delivery.taken > 64) return;  // no list is longer
  if (const auto ids = wholes_at(event.fields, "ids", 0, kMostId))
    delivery.ids.assign(ids->begin(), ids->end());
  facts_.deliveries.push_back(std::move(delivery));
}

void ViewReader::lessons(const LoggedEvent& event, PeerIndex peer, double time_s) {
  const auto ids = wholes_at(event.fields, "ids", 0, kMostId);
  const auto before = wholes_at(event.fields, "before", 0, 1000);
  const auto after = wholes_at(event.fields, "after", 0, 1000);
  if (!ids || !before || !after || before->size() != ids->size() || after->size() != ids->size())
    return;
  for (std::size_t i = 0; i < ids->size(); ++i) {
    facts_.lessons.push_back({peer, static_cast<std::uint32_t>((*ids)[i]),
                              static_cast<double>((*before)[i]) / 1000.0,
                              static_cast<double>((*after)[i]) / 1000.0, time_s});
  }
}

}  // namespace hearsay::runtime::report
