// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/pool_communities.hpp"

#include <algorithm>
#include <charconv>

#include "clustering/partition.hpp"

namespace hearsay::runtime {
namespace {

using clustering::Partition;

// A file of another process may hold anything.
std::optional<Partition> read_partition(const std::string& text, std::size_t peers) {
  std::vector<std::uint32_t> labels;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::uint32_t label = 0;
    const auto [rest, error] = std::from_chars(at, end, label);
    if (error != std::errc() || (rest != end && *rest != ',')) return std::nullopt;
    labels.push_back(label);
    at = rest == end ? end : rest + 1;
  }
  if (labels.size() != peers) return std::nullopt;
  return clustering::numbered(labels);
}

}  // namespace

std::optional<std::string> community_text(std::span<const std::uint32_t> labels) {
  if (labels.empty()) return std::nullopt;
  std::string text;
  for (const std::uint32_t label : labels)
    text += (text.empty() ? "" : ",") + std::to_string(label);
  return text;
}

std::optional<PoolCommunities> agreed_communities(std::span<const std::optional<std::string>> told,
                                                  std::span<const std::uint32_t> groups) {
  std::vector<Partition> found;
  for (const std::optional<std::string>& text : told) {
    if (!text) continue;
    if (auto partition = read_partition(*text, told.size())) found.push_back(std::move(*partition));
  }
  if (found.empty()) return std::nullopt;
  const Partition* best = nullptr;
  std::ptrdiff_t most = 0;
  for (const Partition& each : found) {
    const auto same = std::count(found.begin(), found.end(), each);
    if (same <= most) continue;
    most = same;
    best = &each;
  }
  PoolCommunities out;
  out.count = best->count;
  out.agreed = static_cast<std::uint32_t>(most);
  out.labels = best->labels;
  const Partition truth = clustering::numbered(groups);
  if (truth.count > 1) {
    const clustering::Agreement agreement = clustering::agreement(*best, truth);
    out.rand_index = agreement.rand;
    out.adjusted_rand_index = agreement.adjusted_rand;
  }
  return out;
}

}  // namespace hearsay::runtime
