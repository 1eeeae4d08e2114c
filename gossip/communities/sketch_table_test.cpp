// SPDX-License-Identifier: Apache-2.0
// Sketches of a pool: the newest wins, lies about form change nothing, news goes round, and all of
// it is kept.
#include "gossip/communities/sketch_table.hpp"

#include <memory>
#include <set>

#include "gossip/limits.hpp"
#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using kernels::PeerId;
constexpr std::uint32_t kPeers = 5, kValues = 4;

Sketch sketch_of(std::uint32_t peer, std::uint64_t version, std::uint8_t mark = 0x3f) {
  auto packed = std::make_shared<merge::Packed>();
  packed->bytes.assign(2 * kValues, mark);
  return {PeerId(peer), version, packed};
}

std::uint32_t learn(SketchTable& table, const Sketch& sketch, std::uint32_t from = 1,
                    std::uint64_t clock = 0) {
  return table.learn(std::span(&sketch, 1), PeerId(from), clock);
}

std::vector<std::uint32_t> peers_of(const std::vector<Sketch>& sketches) {
  std::vector<std::uint32_t> peers;
  for (const Sketch& sketch : sketches) peers.push_back(sketch.peer.value);
  return peers;
}

}  // namespace

TEST_CASE("the newest sketch of a peer is kept, whoever tells it, with its age") {
  SketchTable table(PeerId(0), kPeers, kValues);
  CHECK(table.known() == 0);
  CHECK(learn(table, sketch_of(2, 5, 0x3e), 1, 3) == 1);
  CHECK(learn(table, sketch_of(2, 5, 0x3d), 3, 4) == 0);
  CHECK(learn(table, sketch_of(2, 4, 0x3d), 3, 4) == 0);
  CHECK(table.of(2).values->bytes[0] == 0x3e);
  CHECK(table.oldest(10) == 7);
  CHECK(learn(table, sketch_of(2, 6, 0x3d), 3, 8) == 1);
  CHECK(table.of(2).values->bytes[0] == 0x3d);
  CHECK(table.oldest(10) == 2);
  CHECK(table.known() == 1);
}

TEST_CASE("sketches that are none are ignored, and nobody tells a peer its own") {
  SketchTable table(PeerId(0), kPeers, kValues);
  Sketch none = sketch_of(2, 1), longer = sketch_of(2, 1), infinite = sketch_of(2, 1);
  none.values = nullptr;
  longer.values = std::make_shared<merge::Packed>(merge::Packed{std::vector<std::uint8_t>(10)});
  auto bytes = std::make_shared<merge::Packed>(merge::Packed{std::vector<std::uint8_t>(8)});
  bytes->bytes[6] = 0x80;
  bytes->bytes[7] = 0x7f;  // bf16 infinity
  infinite.values = bytes;
  for (const Sketch& bad :
       {none, longer, infinite, sketch_of(kPeers, 1), sketch_of(2, 0), sketch_of(0, 99)}) {
    CAPTURE(bad.peer.value, bad.version);
    CHECK(learn(table, bad) == 0);
  }
  CHECK(table.known() == 0);
}

TEST_CASE("own sketches are rounded to bf16 and numbered, each start of a peer above the last") {
  SketchTable table(PeerId(1), kPeers, kValues);
  const std::vector<float> values{1.0f, -0.5f, 1.00390625f, 0.0f};  // the third lies between two
  table.set_own(values, 0);
  CHECK(table.of(1).version == 1);
  table.set_own(values, 0);
  CHECK(table.of(1).version == 2);
  table.set_own(values, 3);
  CHECK(table.of(1).version == (std::uint64_t{3} << 32) + 1);
  CHECK(table.rows()[1] == std::vector<float>{1.0f, -0.5f, 1.0f, 0.0f});
  CHECK(table.rows()[0].empty());
}

TEST_CASE("a frame has the own sketch once, and of the others what waited longest") {
  SketchTable table(PeerId(0), kPeers, kValues);
  CHECK(table.for_partner(PeerId(1), 2).empty());
  table.set_own(std::vector<float>(kValues, 1.0f), 0);
  for (const std::uint32_t peer : {2u, 3u, 4u}) learn(table, sketch_of(peer, 1), peer);
  CHECK(peers_of(table.for_partner(PeerId(1), 2)) == std::vector<std::uint32_t>{0, 2});
  CHECK(peers_of(table.for_partner(PeerId(1), 2)) == std::vector<std::uint32_t>{3, 4});
  CHECK(peers_of(table.for_partner(PeerId(1), 2)) == std::vector<std::uint32_t>{2, 3});
  table.set_own(std::vector<float>(kValues, 2.0f), 0);
  CHECK(peers_of(table.for_partner(PeerId(1), 2)) == std::vector<std::uint32_t>{0, 4});
  // What the partner made itself, or has told, is no news to it.
  learn(table, sketch_of(3, 2), 2);
  CHECK(peers_of(table.for_partner(PeerId(2), 3)) == std::vector<std::uint32_t>{0, 4});
}

TEST_CASE("news of everybody reaches everybody") {
  constexpr std::uint32_t kPool = 16;
  std::vector<SketchTable> pool;
  for (std::uint32_t i = 0; i < kPool; ++i) {
    pool.emplace_back(PeerId(i), kPool, kValues);
    pool.back().set_own(std::vector<float>(kValues, 1.0f), 0);
  }
  kernels::Rng rng = kernels::Rng::stream(5, "news");
  const auto all_know = [&] {
    for (const SketchTable& table : pool) {
      if (table.known() < kPool) return false;
    }
    return true;
  };
  std::uint32_t frames = 0;
  for (; !all_know() && frames < 1000; ++frames) {
    const std::uint32_t from = rng.below(kPool), to = (from + 1 + rng.below(kPool - 1)) % kPool;
    const auto sent = pool[from].for_partner(PeerId(to), limits::kSketches);
    pool[to].learn(sent, PeerId(from), 0);
  }
  CHECK(frames < 12 * kPool);  // about ln n frames a peer each way
}

TEST_CASE("a table goes on from what was kept, and refuses what is no table of its pool") {
  SketchTable table(PeerId(0), kPeers, kValues);
  table.set_own(std::vector<float>(kValues, 1.0f), 0);
  learn(table, sketch_of(3, 7), 2, 4);
  table.for_partner(PeerId(1), 2);
  Archive out;
  out("table", table);
  const auto load = [&](SketchTable& into, Archive::Json json) {
    Archive in(std::move(json), out.arrays());
    in("table", into);
  };
  SketchTable again(PeerId(0), kPeers, kValues);
  load(again, out.json());
  CHECK(again.rows() == table.rows());
  CHECK(again.oldest(9) == 5);
  CHECK(peers_of(again.for_partner(PeerId(1), 2)) == peers_of(table.for_partner(PeerId(1), 2)));
  SketchTable larger(PeerId(0), kPeers, 2 * kValues), fewer(PeerId(0), kPeers - 1, kValues);
  CHECK_THROWS_AS(load(larger, out.json()), ArchiveFault);
  CHECK_THROWS_AS(load(fewer, out.json()), ArchiveFault);
  Archive::Json swapped = out.json();
  std::swap(swapped["table"]["entries"][0], swapped["table"]["entries"][3]);
  CHECK_THROWS_AS(load(again, swapped), ArchiveFault);
}

}  // namespace hearsay::gossip
