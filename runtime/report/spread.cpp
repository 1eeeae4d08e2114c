// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/spread.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace hearsay::runtime::report {
namespace {

using Known = std::vector<std::uint64_t>;

class KnowledgeOfAll {
 public:
  explicit KnowledgeOfAll(std::size_t peers) : of_(peers, Known((peers + 63) / 64, 0)) {
    for (std::size_t i = 0; i < peers; ++i) of_[i][i / 64] |= std::uint64_t{1} << (i % 64);
  }
  const Known& of(PeerIndex peer) const { return of_[peer]; }

  // Returns how many the peer hears of for the first time.
  std::size_t add(PeerIndex peer, const Known& heard) {
    std::size_t fresh = 0;
    for (std::size_t word = 0; word < heard.size(); ++word) {
      fresh += static_cast<std::size_t>(std::popcount(heard[word] & ~of_[peer][word]));
      of_[peer][word] |= heard[word];
    }
    return fresh;
  }

 private:
  std::vector<Known> of_;
};

}  // namespace

Spread spread_of(const RunFacts& facts) {
  const std::size_t peers = facts.peers.size();
  Spread spread;
  spread.pairs = peers * (peers - std::min<std::size_t>(1, peers));
  KnowledgeOfAll knowledge(peers);
  std::map<std::tuple<PeerIndex, PeerIndex, std::uint64_t>, Known> on_the_way;
  auto transfer = facts.transfers.begin();
  std::size_t merges = 0;
  for (const Merge& merge : facts.merges) {
    for (; transfer != facts.transfers.end() && transfer->time_s <= merge.time_s; ++transfer)
      on_the_way[{transfer->from, transfer->to, transfer->seq}] = knowledge.of(transfer->from);
    const auto found = on_the_way.find({merge.from, merge.peer, merge.seq});
    if (merge.applied) {
      ++merges;
      // Without a log of the sender, what it knows now is the best guess.
      spread.reached += knowledge.add(
          merge.peer, found != on_the_way.end() ? found->second : Known(knowledge.of(merge.from)));
      if (spread.reached == spread.pairs && !spread.complete_s) {
        spread.complete_s = merge.time_s;
        spread.merges_until_then = merges;
      }
    }
    if (found != on_the_way.end()) on_the_way.erase(found);
  }
  return spread;
}

std::vector<PairTraffic> traffic_by_pair(const RunFacts& facts) {
  std::map<std::pair<PeerIndex, PeerIndex>, PairTraffic> pairs;
  for (const Merge& merge : facts.merges) {
    PairTraffic& pair = pairs[{merge.from, merge.peer}];
    pair.from = merge.from;
    pair.to = merge.peer;
    pair.bytes += merge.bytes;
    pair.refused += merge.refused();
    if (!merge.applied) continue;
    ++pair.merges;
    pair.alpha_sum += merge.alpha;
  }
  std::vector<PairTraffic> sorted;
  for (const auto& [key, pair] : pairs) sorted.push_back(pair);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PairTraffic& a, const PairTraffic& b) { return a.merges > b.merges; });
  return sorted;
}

}  // namespace hearsay::runtime::report
