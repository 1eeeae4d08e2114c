// SPDX-License-Identifier: Apache-2.0
#include "clustering/agglomerate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace hearsay::clustering {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Parts {
  double i = 1.0, j = 1.0, k = 1.0;  // peers in each
};

// Lance-Williams: the distance of part k to i and j joined.
double updated(Linkage linkage, double ik, double jk, double ij, const Parts& size) {
  if (ij == kInf) return kInf;  // i and j were nearest to each other: nobody is nearer to them
  const double least = std::min(ik, jk);
  switch (linkage) {
    case Linkage::single: return least;
    case Linkage::complete: return std::max(ik, jk);
    case Linkage::average: return std::max(least, (size.i * ik + size.j * jk) / (size.i + size.j));
    case Linkage::ward: {
      const double sum = (size.i + size.k) * ik + (size.j + size.k) * jk - size.k * ij;
      return std::max(least, sum / (size.i + size.j + size.k));
    }
  }
  return kInf;
}

// Parts are named after one of their peers.
struct Join {
  std::uint32_t i = 0, j = 0;
  double height = 0.0;
};

class Chain {
 public:
  Chain(const Distances& distances, Linkage linkage)
      : linkage_(linkage),
        peers_(distances.size()),
        square_(peers_ * peers_),
        sizes_(peers_, 1.0),
        active_(peers_) {
    std::iota(active_.begin(), active_.end(), 0u);
    for (std::size_t i = 0; i < peers_; ++i) {
      for (std::size_t j = 0; j < peers_; ++j) square_[i * peers_ + j] = distances(i, j);
    }
  }

  std::vector<Join> joins() {
    std::vector<Join> out;
    std::vector<std::uint32_t> chain;
    while (active_.size() > 1) {
      if (chain.empty()) chain.push_back(active_.front());
      const bool has_previous = chain.size() > 1;
      const std::uint32_t top = chain.back();
      const std::uint32_t previous = has_previous ? chain[chain.size() - 2] : top;
      const std::uint32_t nearest = nearest_to(top, previous);
      if (!has_previous || nearest != previous) {
        chain.push_back(nearest);  // nearer than the one before: the chain cannot come back
        continue;
      }
      out.push_back({previous, top, row(top)[previous]});
      join(std::min(top, previous), std::max(top, previous));
      chain.resize(chain.size() - 2);
    }
    return out;
  }

 private:
  double* row(std::size_t i) { return square_.data() + i * peers_; }

  // Of several, `previous` if it is one (without that two could wait for each other for ever).
  std::uint32_t nearest_to(std::uint32_t part, std::uint32_t previous) {
    const double* distances = row(part);
    std::uint32_t best = previous;
    double least = previous == part ? kInf : distances[previous];
    for (const std::uint32_t k : active_) {
      if (k == part) continue;
      if (distances[k] < least || best == part) {
        best = k;
        least = distances[k];
      }
    }
    return best;
  }

  void join(std::uint32_t kept, std::uint32_t dropped) {
    const double ij = row(kept)[dropped];
    active_.erase(std::lower_bound(active_.begin(), active_.end(), dropped));
    for (const std::uint32_t k : active_) {
      if (k == kept) continue;
      const double distance = updated(linkage_, row(kept)[k], row(dropped)[k], ij,
                                      {sizes_[kept], sizes_[dropped], sizes_[k]});
      row(kept)[k] = distance;
      row(k)[kept] = distance;
    }
    sizes_[kept] += sizes_[dropped];
  }

  Linkage linkage_;
  std::size_t peers_;
  std::vector<double> square_;  // full, so that a row lies in one piece
  std::vector<double> sizes_;
  std::vector<std::uint32_t> active_;  // ascending
};

std::uint32_t root_of(std::span<std::uint32_t> parents, std::uint32_t part) {
  while (parents[part] != part) {
    parents[part] = parents[parents[part]];
    part = parents[part];
  }
  return part;
}

}  // namespace

std::size_t Tree::finite_merges() const {
  const auto first = std::find_if(merges.begin(), merges.end(),
                                  [](const Merge& merge) { return merge.height == kInf; });
  return static_cast<std::size_t>(first - merges.begin());
}

Tree agglomerate(const Distances& distances, Linkage linkage) {
  Tree tree;
  tree.peers = static_cast<std::uint32_t>(distances.size());
  std::vector<Join> joins = Chain(distances, linkage).joins();
  // The chain joins out of order; equal heights keep its order, in which parts come before wholes.
  std::stable_sort(joins.begin(), joins.end(),
                   [](const Join& x, const Join& y) { return x.height < y.height; });
  std::vector<std::uint32_t> parents(tree.peers + joins.size());
  std::iota(parents.begin(), parents.end(), 0u);
  const auto size = [&](std::uint32_t part) {
    return part < tree.peers ? 1u : tree.merges[part - tree.peers].size;
  };
  for (const Join& join : joins) {
    const std::uint32_t made = tree.peers + static_cast<std::uint32_t>(tree.merges.size());
    const std::uint32_t i = root_of(parents, join.i), j = root_of(parents, join.j);
    parents[i] = parents[j] = made;
    tree.merges.push_back({std::min(i, j), std::max(i, j), join.height, size(i) + size(j)});
  }
  return tree;
}

}  // namespace hearsay::clustering
