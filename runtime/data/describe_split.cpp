// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gossip/event.hpp"
#include "runtime/data/describe.hpp"
#include "runtime/data/label_histogram.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::size_t kPeerWidth = 6, kGroupWidth = 5, kSizeWidth = 9, kCountWidth = 8;

struct SplitTotals {
  std::size_t owned = 0, smallest = 0, largest = 0;
};

SplitTotals totals_of(const Partition& partition) {
  SplitTotals totals;
  for (const auto& indices : partition.owned) {
    totals.smallest =
        totals.owned == 0 ? indices.size() : std::min(totals.smallest, indices.size());
    totals.largest = std::max(totals.largest, indices.size());
    totals.owned += indices.size();
  }
  return totals;
}

std::string peer_text(std::size_t peer) {
  return gossip::peer_name(kernels::PeerId(static_cast<std::uint32_t>(peer)));
}

bool has_column_per_class(const Dataset& dataset) {
  return dataset.train.classes <= kHistogramColumns;
}

// With more classes than columns only their number and the commonest are shown; the JSON has them
// all.
std::string histogram_text(const Dataset& dataset, const std::vector<std::size_t>& counts) {
  if (has_column_per_class(dataset)) return number_row(counts, kCountWidth);
  const auto held =
      counts.size() - static_cast<std::size_t>(std::ranges::count(counts, std::size_t{0}));
  const auto most = std::ranges::max_element(counts);
  return right(std::to_string(held), kCountWidth) + "   class " +
         std::to_string(most - counts.begin()) + ": " + std::to_string(*most);
}

std::string heading(const Dataset& dataset) {
  std::string text =
      left("peer", kPeerWidth) + right("group", kGroupWidth) + right("examples", kSizeWidth);
  if (!has_column_per_class(dataset)) return text + right("labels", kCountWidth) + "   commonest\n";
  for (std::uint32_t c = 0; c < dataset.train.classes; ++c) {
    text += right("class " + std::to_string(c), kCountWidth);
  }
  return text + "\n";
}

}  // namespace

std::string split_text(const Dataset& dataset, const Partition& partition, std::uint64_t seed) {
  const SplitTotals totals = totals_of(partition);
  const std::size_t peers = partition.owned.size();
  std::string text = "split     " + partition.spec + ", seed " + std::to_string(seed) +
                     "\nrule      " + describe_variant(partition.spec) + "\n\n" + heading(dataset);
  for (std::uint32_t p = 0; p < peers; ++p) {
    const auto labels = shard_labels(dataset.train, partition, p, seed);
    text += left(peer_text(p), kPeerWidth) +
            right(std::to_string(partition.group[p]), kGroupWidth) +
            right(std::to_string(labels.size()), kSizeWidth) +
            histogram_text(dataset, label_histogram(labels, dataset.train.classes)) + "\n";
  }
  text += "\ntotal     " + std::to_string(totals.owned) + " of " +
          std::to_string(dataset.train.count()) + " training examples, " + std::to_string(peers) +
          (peers == 1 ? " shard" : " shards") + " of " + std::to_string(totals.smallest) + " to " +
          std::to_string(totals.largest) + "\n";
  return text;
}

nlohmann::ordered_json split_json(const Dataset& dataset, const Partition& partition,
                                  std::uint64_t seed) {
  const SplitTotals totals = totals_of(partition);
  auto per_peer = nlohmann::ordered_json::array();
  for (std::uint32_t p = 0; p < partition.owned.size(); ++p) {
    const auto labels = shard_labels(dataset.train, partition, p, seed);
    per_peer.push_back({{"peer", peer_text(p)},
                        {"group", partition.group[p]},
                        {"examples", labels.size()},
                        {"wrong_labels", noisy_count(partition, p)},
                        {"per_class", label_histogram(labels, dataset.train.classes)}});
  }
  return {{"split", partition.spec},
          {"rule", describe_variant(partition.spec)},
          {"seed", seed},
          {"peers", partition.owned.size()},
          {"classes", dataset.train.classes},
          {"examples", totals.owned},
          {"unowned", dataset.train.count() - totals.owned},
          {"smallest", totals.smallest},
          {"largest", totals.largest},
          {"rotate_by", partition.rotate_by},
          {"noise_share", partition.noise_share},
          {"per_peer", std::move(per_peer)}};
}

}  // namespace hearsay::runtime
