// SPDX-License-Identifier: Apache-2.0
#include "gossip/examples/holdings.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

#include "gossip/event.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {

// The words of one line, in turn.
struct Holdings::Words {
  std::string_view rest;

  bool over() const { return rest.empty(); }
  std::string_view next() {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, space);
    rest.remove_prefix(std::min(space + 1, rest.size()));
    return word;
  }
  template <typename T>
  static bool read(std::string_view word, T& value) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size();
  }
  template <typename T>
  bool number(T& value) {
    return read(next(), value);
  }
};

Holdings::Holdings(std::span<const std::uint32_t> ids, std::span<const std::uint8_t> labels) {
  HS_CHECK(ids.size() == labels.size());
  for (std::size_t i = 0; i < ids.size(); ++i) labels_.emplace(ids[i], labels[i]);
  HS_CHECK(labels_.size() == ids.size());
}

bool Holdings::apply(std::string_view line, std::uint32_t peers) {
  Words words{line};
  const std::string_view verb = words.next(), name = words.next();
  std::uint32_t peer = 0;
  std::uint64_t seq = 0;
  const bool named = name.size() > 1 && name.front() == 'p' && Words::read(name.substr(1), peer);
  if (!named || peer >= peers || !words.number(seq)) return false;
  if (verb == "offer") return apply_offer(PeerId(peer), seq, words);
  if (verb == "took") return apply_took(PeerId(peer), seq, words);
  return verb == "closed" && apply_closed(PeerId(peer), seq, words);
}

bool Holdings::apply_offer(PeerId peer, std::uint64_t seq, Words& words) {
  if (open_.contains(peer) || seq == ~std::uint64_t{0}) return false;
  Offer offer{seq, {}, {}};
  while (!words.over()) {
    std::uint32_t id = 0;
    if (!words.number(id) || !labels_.contains(id)) return false;
    if (std::find(offer.ids.begin(), offer.ids.end(), id) != offer.ids.end()) return false;
    for (const auto& [to, other] : open_) {
      if (std::find(other.ids.begin(), other.ids.end(), id) != other.ids.end()) return false;
    }
    offer.ids.push_back(id);
  }
  if (offer.ids.empty() || offer.ids.size() > 64) return false;
  open_.emplace(peer, std::move(offer));
  last_offer_ = std::max(last_offer_, seq);
  return true;
}

bool Holdings::apply_took(PeerId peer, std::uint64_t seq, Words& words) {
  Taken now{seq, 0};
  const auto known = taken_.find(peer);
  if (!words.number(now.taken) || (known != taken_.end() && known->second.seq >= seq)) return false;
  std::map<std::uint32_t, std::uint8_t> came;
  while (!words.over()) {
    const std::string_view word = words.next();
    const std::size_t colon = word.find(':');
    std::uint32_t id = 0;
    std::uint8_t label = 0;
    if (colon == std::string_view::npos || !Words::read(word.substr(0, colon), id) ||
        !Words::read(word.substr(colon + 1), label))
      return false;
    if (labels_.contains(id) || !came.emplace(id, label).second) return false;
  }
  if (came.size() != static_cast<std::size_t>(std::popcount(now.taken))) return false;
  labels_.merge(came);
  taken_[peer] = now;
  return true;
}

bool Holdings::apply_closed(PeerId peer, std::uint64_t seq, Words& words) {
  const auto offer = open_.find(peer);
  std::uint64_t taken = 0;
  if (offer == open_.end() || offer->second.seq != seq) return false;
  if (!words.number(taken) || !words.over()) return false;
  for (std::size_t i = 0; i < offer->second.ids.size(); ++i) {
    if (taken >> i & 1) labels_.erase(offer->second.ids[i]);
  }
  open_.erase(offer);
  return true;
}

std::string Holdings::offer_line(PeerId to, const Offer& offer) {
  std::string line = "offer " + peer_name(to) + " " + std::to_string(offer.seq);
  for (const std::uint32_t id : offer.ids) line += " " + std::to_string(id);
  return line;
}

std::string Holdings::took_line(PeerId from, const Taken& taken,
                                std::span<const std::pair<std::uint32_t, std::uint8_t>> examples) {
  std::string line = "took " + peer_name(from) + " " + std::to_string(taken.seq) + " " +
                     std::to_string(taken.taken);
  for (const auto& [id, label] : examples)
    line += " " + std::to_string(id) + ":" + std::to_string(label);
  return line;
}

std::string Holdings::closed_line(PeerId to, std::uint64_t seq, std::uint64_t taken) {
  return "closed " + peer_name(to) + " " + std::to_string(seq) + " " + std::to_string(taken);
}

Holdings read_holdings(std::span<const std::uint32_t> ids, std::span<const std::uint8_t> labels,
                       std::span<const std::string> lines, std::uint32_t peers,
                       std::optional<std::size_t>* bad) {
  Holdings held(ids, labels);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (held.apply(lines[i], peers)) continue;
    if (bad != nullptr) *bad = i;
    break;
  }
  return held;
}

}  // namespace hearsay::gossip
