// SPDX-License-Identifier: Apache-2.0
// A value for every peer of a pool. Up to kDense peers it is a plain array. In larger pools a peer
// meets few of the others: those that nobody has changed share one value, and only the rest are
// stored, in order of their ids, until more than half are. Visits go by id, never by address.
// Lane: that of the owner. Cost: O(1) dense; sparse O(log stored) to read, O(stored) to store one
// more; memory of those stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gossip/archive.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {

template <typename T>
class SparsePeers {
 public:
  static constexpr std::uint32_t kDense = 1024;

  SparsePeers(std::uint32_t peers, const T& common) : size_(peers), common_(common) {
    if (peers <= kDense) store_all();
  }

  std::uint32_t size() const noexcept { return size_; }
  std::size_t stored() const noexcept { return values_.size(); }

  const T& operator[](std::uint32_t peer) const {
    HS_CHECK(peer < size_);
    if (is_dense()) return values_[peer];
    const std::size_t at = place(peer);
    return is_at(at, peer) ? values_[at] : common_;
  }
  // To be changed: stored from now on. Good until the next one is.
  T& change(std::uint32_t peer) {
    HS_CHECK(peer < size_);
    if (is_dense()) return values_[peer];
    const std::size_t at = place(peer);
    if (is_at(at, peer)) return values_[at];
    if (stored() >= size_ / 2) {
      store_all();
      return values_[peer];
    }
    ids_.insert(ids_.begin() + static_cast<std::ptrdiff_t>(at), peer);
    return *values_.insert(values_.begin() + static_cast<std::ptrdiff_t>(at), common_);
  }
  // The value of all that are not stored.
  T& common() noexcept { return common_; }
  const T& common() const noexcept { return common_; }

  template <typename Visit>
  void for_each_stored(Visit visit) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      visit(is_dense() ? static_cast<std::uint32_t>(i) : ids_[i], values_[i]);
  }
  // The first stored peer from `peer` on, going round; needs one that is stored.
  std::uint32_t stored_from(std::uint32_t peer) const {
    HS_CHECK(!values_.empty());
    if (is_dense()) return peer < size_ ? peer : 0;
    const std::size_t at = place(peer);
    return at < ids_.size() ? ids_[at] : ids_.front();
  }
  void store_all() {
    if (is_dense()) return;
    std::vector<T> all(size_, common_);
    for (std::size_t i = 0; i < ids_.size(); ++i) all[ids_[i]] = std::move(values_[i]);
    values_ = std::move(all);
    ids_ = {};
  }

  void state(Archive& archive) {
    archive("ids", ids_)("values", values_)("common", common_);
    if (!archive.loading()) return;
    const bool sorted = std::is_sorted(ids_.begin(), ids_.end(), std::less_equal<>());
    const bool dense = ids_.empty() && values_.size() == size_;
    const bool sparse = ids_.size() == values_.size() && size_ > kDense && sorted &&
                        (ids_.empty() || ids_.back() < size_);
    if (!dense && !sparse) archive.fail("ids", "are not those of a pool of this size");
  }

 private:
  bool is_dense() const noexcept { return values_.size() == size_; }
  std::size_t place(std::uint32_t peer) const {
    return static_cast<std::size_t>(std::lower_bound(ids_.begin(), ids_.end(), peer) -
                                    ids_.begin());
  }
  bool is_at(std::size_t at, std::uint32_t peer) const {
    return at < ids_.size() && ids_[at] == peer;
  }

  std::uint32_t size_;
  T common_;
  std::vector<std::uint32_t> ids_;  // of values_; empty when all are stored
  std::vector<T> values_;
};

}  // namespace hearsay::gossip
