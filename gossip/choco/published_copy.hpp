// SPDX-License-Identifier: Apache-2.0
// A model as its owner has published it, difference by difference, and as every neighbour that has
// heard all of them holds it: the same bits at each version. Numbers of versions rise by one a
// difference and begin with the owner's incarnation, so that two that are called the same are the
// same. Values never change once they are there: a later version is another snapshot.
// Compute lane of one peer. Cost: 4 B a weight; a version one pass and a digest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "gossip/archive.hpp"
#include "gossip/local_model.hpp"

namespace hearsay::gossip {

// Own published differences that a peer can go back over, to a version that a neighbour has
// answered; and how many neighbours it may hold copies of.
inline constexpr std::size_t kChocoHistory = 8;
inline constexpr std::size_t kChocoNeighbours = 16;

class PublishedCopy {
 public:
  static std::uint64_t first_version(std::uint32_t incarnation) {
    return std::uint64_t{incarnation} << 32;
  }

  bool is_held() const { return values_ != nullptr; }
  const merge::SnapshotRef& values() const { return values_; }  // null where it is not held
  std::uint64_t version() const { return version_; }
  std::uint64_t digest() const { return digest_; }

  void hold(merge::SnapshotRef values, std::uint64_t version);
  void add(std::span<const float> difference, LocalModel& model);  // the next version
  void rename(std::uint64_t version) { version_ = version; }
  void drop() { values_ = nullptr; }

  void state(Archive& a) { a("values", values_)("version", version_)("digest", digest_); }

 private:
  merge::SnapshotRef values_;
  std::uint64_t version_ = 0, digest_ = 0;
};

}  // namespace hearsay::gossip
