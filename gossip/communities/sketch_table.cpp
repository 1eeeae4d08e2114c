// SPDX-License-Identifier: Apache-2.0
#include "gossip/communities/sketch_table.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::gossip {

using kernels::PeerId;

SketchTable::SketchTable(PeerId self, std::uint32_t peers, std::uint32_t values)
    : self_(self), values_(values), entries_(peers) {
  HS_CHECK(self.value < peers);
}

void SketchTable::set_own(std::span<const float> values, std::uint32_t incarnation) {
  HS_CHECK(values.size() == values_);
  auto packed = std::make_shared<merge::Packed>();
  packed->bytes.reserve(2 * values.size());
  for (const float value : values) {
    const std::uint16_t bits = kernels::nearest(value, kernels::Bf16{}).bits;
    packed->bytes.push_back(static_cast<std::uint8_t>(bits & 0xff));
    packed->bytes.push_back(static_cast<std::uint8_t>(bits >> 8));
  }
  Entry& own = entries_[self_.value];
  const std::uint64_t first = std::uint64_t{incarnation} << 32;
  own.sketch = {self_, std::max(own.sketch.version, first) + 1, std::move(packed)};
  own.from = self_;
}

bool SketchTable::is_sound(const Sketch& sketch) const {
  return sketch.peer.value < entries_.size() && sketch.peer != self_ && sketch.version > 0 &&
         sketch.values && sketch.values->bytes.size() == std::size_t{2} * values_ &&
         all_finite(sketch.values->bytes);
}

std::uint32_t SketchTable::learn(std::span<const Sketch> sketches, PeerId from,
                                 std::uint64_t clock) {
  std::uint32_t kept = 0;
  for (const Sketch& sketch : sketches) {
    if (!is_sound(sketch)) continue;
    Entry& entry = entries_[sketch.peer.value];
    if (sketch.version <= entry.sketch.version) continue;
    entry.sketch = sketch;
    entry.from = from;
    entry.came = clock;
    ++kept;
  }
  return kept;
}

std::vector<Sketch> SketchTable::for_partner(PeerId partner, std::size_t limit) {
  std::vector<Sketch> out;
  const Sketch& own = entries_[self_.value].sketch;
  std::uint64_t& told = entries_[partner.value].told_own;
  if (limit > 0 && own.version > told) {
    out.push_back(own);
    told = own.version;
  }
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    const bool news = knows(i) && PeerId(i) != self_ && PeerId(i) != partner;
    if (news && entries_[i].from != partner) others.push_back(i);
  }
  std::stable_sort(others.begin(), others.end(), [&](std::uint32_t a, std::uint32_t b) {
    return entries_[a].passed_on < entries_[b].passed_on;
  });
  for (const std::uint32_t other : others) {
    if (out.size() >= limit) break;
    out.push_back(entries_[other].sketch);
    entries_[other].passed_on = ++passings_;
  }
  return out;
}

std::uint32_t SketchTable::known() const {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) count += knows(i) ? 1 : 0;
  return count;
}

std::uint64_t SketchTable::oldest(std::uint64_t clock) const {
  std::uint64_t oldest = 0;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    if (knows(i) && PeerId(i) != self_) oldest = std::max(oldest, age(i, clock));
  }
  return oldest;
}

std::vector<std::vector<float>> SketchTable::rows() const {
  std::vector<std::vector<float>> rows(entries_.size());
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    if (!knows(i)) continue;
    rows[i].reserve(values_);
    for (std::size_t k = 0; k < values_; ++k) rows[i].push_back(entries_[i].sketch.value(k));
  }
  return rows;
}

void SketchTable::state(Archive& archive) {
  const std::size_t peers = entries_.size();
  archive("entries", entries_)("passings", passings_);
  if (!archive.loading()) return;
  if (entries_.size() != peers) archive.fail("entries", "are not one a peer");
  for (std::uint32_t i = 0; i < peers; ++i) {
    const Sketch& sketch = entries_[i].sketch;
    if (sketch.version == 0) continue;
    const bool fits = sketch.peer == PeerId(i) && sketch.values &&
                      sketch.values->bytes.size() == std::size_t{2} * values_ &&
                      all_finite(sketch.values->bytes);
    if (!fits) archive.fail("entries", "one is no sketch of its peer");
  }
}

}  // namespace hearsay::gossip
