// SPDX-License-Identifier: Apache-2.0
#include "gossip/topology/topology.hpp"

#include <bit>

#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

class Uniform final : public Topology {
 public:
  explicit Uniform(std::uint32_t peers) : peers_(peers) {}
  std::uint32_t degree(PeerId, std::uint64_t) const override { return peers_ - 1; }
  PeerId neighbour(PeerId self, std::uint64_t, std::uint32_t index) const override {
    return PeerId(index < self.value ? index : index + 1);
  }

 private:
  std::uint32_t peers_;
};

class Ring final : public Topology {
 public:
  explicit Ring(std::uint32_t peers) : peers_(peers) {}
  std::uint32_t degree(PeerId, std::uint64_t) const override {
    return peers_ <= 2 ? peers_ - 1 : 2;
  }
  PeerId neighbour(PeerId self, std::uint64_t, std::uint32_t index) const override {
    return PeerId((self.value + (index == 0 ? 1 : peers_ - 1)) % peers_);
  }

 private:
  std::uint32_t peers_;
};

class Exponential final : public Topology {
 public:
  explicit Exponential(std::uint32_t peers)
      : peers_(peers),
        hops_(peers <= 1 ? 0u : static_cast<std::uint32_t>(std::bit_width(peers - 1))) {}
  std::uint32_t degree(PeerId, std::uint64_t) const override { return hops_ == 0 ? 0 : 1; }
  PeerId neighbour(PeerId self, std::uint64_t started, std::uint32_t) const override {
    return PeerId((self.value + (1u << (started % hops_))) % peers_);
  }

 private:
  std::uint32_t peers_, hops_;
};

class Graph final : public Topology {
 public:
  Graph(std::uint32_t peers, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges)
      : neighbours_(peers) {
    for (const auto& [a, b] : edges) {
      HS_CHECK(a < peers && b < peers && a != b);
      neighbours_[a].push_back(PeerId(b));
      neighbours_[b].push_back(PeerId(a));
    }
  }
  std::uint32_t degree(PeerId self, std::uint64_t) const override {
    return static_cast<std::uint32_t>(neighbours_[self.value].size());
  }
  PeerId neighbour(PeerId self, std::uint64_t, std::uint32_t index) const override {
    return neighbours_[self.value][index];
  }

 private:
  std::vector<std::vector<PeerId>> neighbours_;
};

}  // namespace

std::vector<PeerId> possible_partners(const Topology& topology, PeerId self, std::uint32_t peers) {
  constexpr std::uint64_t kRounds = 64;
  const auto chooses = [&](PeerId who, PeerId whom) {
    const std::uint64_t rounds = topology.degree(who, 0) == 1 ? kRounds : 1;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint32_t degree = topology.degree(who, round);
      for (std::uint32_t i = 0; i < degree; ++i) {
        if (topology.neighbour(who, round, i) == whom) return true;
      }
    }
    return false;
  };
  const bool everyone = topology.degree(self, 0) + 1 >= peers;
  std::vector<PeerId> partners;
  for (std::uint32_t i = 0; i < peers; ++i) {
    const PeerId other(i);
    if (other != self && (everyone || chooses(self, other) || chooses(other, self)))
      partners.push_back(other);
  }
  return partners;
}

std::unique_ptr<Topology> make_uniform(std::uint32_t peers) {
  return std::make_unique<Uniform>(peers);
}
std::unique_ptr<Topology> make_ring(std::uint32_t peers) { return std::make_unique<Ring>(peers); }
std::unique_ptr<Topology> make_exponential(std::uint32_t peers) {
  return std::make_unique<Exponential>(peers);
}
std::unique_ptr<Topology> make_graph(
    std::uint32_t peers, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  return std::make_unique<Graph>(peers, edges);
}

}  // namespace hearsay::gossip
