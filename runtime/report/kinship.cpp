// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/kinship.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "kernels/core/errc.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr std::uint32_t kColours = 8;

// run.json may say anything; what is no spec says nothing.
std::optional<Spec> spec_in(const RunFacts& facts, const std::string& key) {
  const std::string text = facts.config_value(key);
  if (text.empty()) return std::nullopt;
  try {
    return parse_spec("--" + key, text);
  } catch (const kernels::UsageError&) {
    return std::nullopt;
  }
}

clustering::Linkage linkage_of(const RunFacts& facts) {
  const auto spec = spec_in(facts, "cluster");
  const std::string name = spec && !spec->values.empty() ? spec->values.front() : "average";
  if (name == "single") return clustering::Linkage::single;
  if (name == "complete") return clustering::Linkage::complete;
  return name == "ward" ? clustering::Linkage::ward : clustering::Linkage::average;
}

// [peer] its newest view at that time, as far as `fits` has it count.
template <typename Fits>
std::vector<const View*> newest_views(const RunFacts& facts, double time_s, Fits fits) {
  std::vector<const View*> newest(facts.peers.size(), nullptr);
  for (const View& view : facts.views) {
    if (view.time_s <= time_s && fits(view)) newest[view.peer] = &view;
  }
  return newest;
}

}  // namespace

std::vector<double> instants_of(const RunFacts& facts) {
  if (facts.peers.size() > clustering::kMostPeers) return {};
  std::map<PeerIndex, double> first_s;
  double last_s = 0.0;
  for (const View& view : facts.views) {
    if (view.distances.empty()) continue;
    first_s.emplace(view.peer, view.time_s);
    last_s = view.time_s;
  }
  if (first_s.empty()) return {};
  std::vector<double> firsts;
  for (const auto& [peer, time_s] : first_s) firsts.push_back(time_s);
  std::sort(firsts.begin(), firsts.end());
  const double begin_s = firsts[firsts.size() / 2];
  if (begin_s >= last_s) return {last_s};
  return {begin_s, (begin_s + last_s) / 2.0, last_s};
}

clustering::Distances distances_at(const RunFacts& facts, double time_s) {
  const std::size_t n = facts.peers.size();
  const auto rows =
      newest_views(facts, time_s, [](const View& view) { return !view.distances.empty(); });
  const auto seen = [&](std::size_t i, std::size_t j) {
    return rows[i] == nullptr ? std::numeric_limits<float>::quiet_NaN() : rows[i]->distances[j];
  };
  clustering::Distances out(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double a = seen(i, j), b = seen(j, i);
      const double mean = std::isnan(a) ? b : std::isnan(b) ? a : (a + b) / 2.0;
      out.set(i, j, std::isnan(mean) ? std::numeric_limits<double>::infinity() : mean);
    }
  }
  return out;
}

clustering::Tree tree_of(const RunFacts& facts, const clustering::Distances& distances) {
  const clustering::Linkage linkage = linkage_of(facts);
  if (linkage != clustering::Linkage::ward) return clustering::agglomerate(distances, linkage);
  clustering::Tree tree = clustering::agglomerate(clustering::squared(distances), linkage);
  for (clustering::Merge& merge : tree.merges) merge.height = std::sqrt(merge.height);
  return tree;
}

std::vector<PeerIndex> order_of(const clustering::Tree& tree) {
  // [part] its peers in order; joined parts with the lower first peer come first.
  std::vector<std::vector<PeerIndex>> parts;
  for (PeerIndex peer = 0; peer < tree.peers; ++peer) parts.push_back({peer});
  for (const clustering::Merge& merge : tree.merges) {
    std::vector<PeerIndex>&a = parts[merge.a], &b = parts[merge.b];
    if (*std::min_element(b.begin(), b.end()) < *std::min_element(a.begin(), a.end())) a.swap(b);
    std::vector<PeerIndex> both = std::move(a);
    both.insert(both.end(), b.begin(), b.end());
    b.clear();
    parts.push_back(std::move(both));
  }
  return parts.empty() ? std::vector<PeerIndex>{} : parts.back();
}

Communities communities_of(const RunFacts& facts) {
  Communities out;
  const auto newest = newest_views(facts, std::numeric_limits<double>::infinity(),
                                   [](const View&) { return true; });
  std::map<std::size_t, std::size_t> found;  // partition -> peers
  for (const View* view : newest) {
    if (view == nullptr) continue;
    ++out.told;
    ++found[view->partition];
  }
  std::size_t best = 0;
  for (const View* view : newest) {  // of several found by as many, the first peer's
    if (view == nullptr || found[view->partition] <= out.agreed) continue;
    out.agreed = found[view->partition];
    best = view->partition;
  }
  if (out.told == 0) return out;
  out.label = facts.partitions[best];
  for (const std::uint32_t label : out.label) out.count = std::max(out.count, label + 1);
  return out;
}

std::string community_name(std::uint32_t label) {
  return label < 26 ? std::string(1, static_cast<char>('A' + label)) : std::to_string(label + 1);
}

std::vector<std::uint32_t> groups_of(const RunFacts& facts) {
  const auto split = spec_in(facts, "split");
  const Spec* rotate = split ? part_of(*split, "rotate") : nullptr;
  const auto text = rotate != nullptr ? rotate->arg("groups") : std::nullopt;
  if (!text) return {};
  try {
    const std::uint64_t groups = parse_count("--split", *text), n = facts.peers.size();
    if (groups < 1 || groups > n || n % groups != 0) return {};
    std::vector<std::uint32_t> out;
    for (std::uint64_t i = 0; i < n; ++i)
      out.push_back(static_cast<std::uint32_t>(i / (n / groups)));
    return out;
  } catch (const kernels::UsageError&) {
    return {};
  }
}

std::string colour_class(std::uint32_t label) { return "k" + std::to_string(label % kColours); }

}  // namespace hearsay::runtime::report
