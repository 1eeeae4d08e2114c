// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/core/check.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/data/partition.hpp"

namespace hearsay::runtime {
namespace {

// Replaces `count` of the labels by one of the other classes, each as likely.
void spoil_labels(std::span<std::uint8_t> labels, std::size_t count, std::uint32_t classes,
                  kernels::Rng rng) {
  std::vector<std::uint32_t> order(labels.size());
  std::iota(order.begin(), order.end(), 0u);
  rng.shuffle(order);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint8_t& label = labels[order[i]];
    label = static_cast<std::uint8_t>((label + 1 + rng.below(classes - 1)) % classes);
  }
}

}  // namespace

std::uint8_t rotated_label(const Partition& partition, std::uint32_t peer, std::uint8_t label,
                           std::uint32_t classes) {
  HS_CHECK(peer < partition.group.size() && label < classes);
  const std::uint64_t shift = std::uint64_t{partition.group[peer]} * partition.rotate_by;
  return static_cast<std::uint8_t>((label + shift) % classes);
}

std::size_t noisy_count(const Partition& partition, std::uint32_t peer) {
  HS_CHECK(peer < partition.owned.size());
  const auto size = static_cast<double>(partition.owned[peer].size());
  return static_cast<std::size_t>(std::floor(partition.noise_share * size + 0.5));
}

std::vector<std::uint8_t> shard_labels(const ImageSet& train, const Partition& partition,
                                       std::uint32_t peer, std::uint64_t seed) {
  HS_CHECK(peer < partition.owned.size());
  std::vector<std::uint8_t> labels;
  labels.reserve(partition.owned[peer].size());
  for (const std::uint32_t i : partition.owned[peer]) {
    HS_CHECK(i < train.count());
    labels.push_back(rotated_label(partition, peer, train.labels[i], train.classes));
  }
  if (const std::size_t count = noisy_count(partition, peer)) {
    spoil_labels(labels, count, train.classes, kernels::Rng::stream(seed, "label-noise", peer));
  }
  return labels;
}

std::vector<std::uint8_t> wrong_labels(const ImageSet& train, const Partition& partition,
                                       std::uint64_t seed) {
  std::vector<std::uint8_t> wrong(train.count(), 0);
  for (std::uint32_t peer = 0; peer < partition.owned.size(); ++peer) {
    const std::vector<std::uint8_t> labels = shard_labels(train, partition, peer, seed);
    for (std::size_t row = 0; row < labels.size(); ++row) {
      const std::uint32_t id = partition.owned[peer][row];
      wrong[id] = labels[row] != rotated_label(partition, peer, train.labels[id], train.classes);
    }
  }
  return wrong;
}

ImageSet make_shard(const ImageSet& train, const Partition& partition, std::uint32_t peer,
                    std::uint64_t seed) {
  ImageSet shard{train.rows,
                 train.cols,
                 train.classes,
                 {},
                 shard_labels(train, partition, peer, seed),
                 partition.owned[peer]};
  shard.pixels.reserve(shard.count() * train.image_bytes());
  for (const std::uint32_t i : partition.owned[peer]) {
    const auto image = train.image(i);
    shard.pixels.insert(shard.pixels.end(), image.begin(), image.end());
  }
  return shard;
}

}  // namespace hearsay::runtime
