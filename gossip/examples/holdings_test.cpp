// SPDX-License-Identifier: Apache-2.0
#include "gossip/examples/holdings.hpp"

#include "tests/catch.hpp"

using namespace hearsay::gossip;

namespace {

constexpr std::uint32_t kPeers = 8;

Holdings fresh() {
  const std::vector<std::uint32_t> ids{10, 11, 12};
  const std::vector<std::uint8_t> labels{0, 1, 2};
  return Holdings(ids, labels);
}

std::vector<std::uint32_t> ids_of(const Holdings& held) {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, label] : held.labels()) ids.push_back(id);
  return ids;
}

}  // namespace

TEST_CASE("lines that a peer has written down give what it owns") {
  Holdings held = fresh();
  const Holdings::Offer offer{77, {10, 12}, {}};
  REQUIRE(held.apply(Holdings::offer_line(PeerId(5), offer), kPeers));
  CHECK(held.open().at(PeerId(5)).ids == offer.ids);
  CHECK(ids_of(held) == std::vector<std::uint32_t>{10, 11, 12});
  const std::vector<std::pair<std::uint32_t, std::uint8_t>> came{{99, 3}, {98, 0}};
  REQUIRE(held.apply(Holdings::took_line(PeerId(2), {5, 0b101}, came), kPeers));
  CHECK(held.taken().at(PeerId(2)).taken == 0b101);
  REQUIRE(held.apply(Holdings::closed_line(PeerId(5), 77, 0b10), kPeers));
  CHECK(held.open().empty());
  CHECK(ids_of(held) == std::vector<std::uint32_t>{10, 11, 98, 99});
  CHECK(held.labels().at(99) == 3);
  REQUIRE(held.apply(Holdings::took_line(PeerId(2), {6, 0}, {}), kPeers));
  CHECK(held.taken().at(PeerId(2)).seq == 6);
  CHECK(held.last_offer() == 77);
  REQUIRE(held.apply("offer p05 12 11", kPeers));
  CHECK(held.last_offer() == 77);
}

TEST_CASE("lines that cannot have been written are refused and change nothing") {
  Holdings held = fresh();
  REQUIRE(held.apply("offer p05 77 10 12", kPeers));
  REQUIRE(held.apply("took p01 9 1 50:4", kPeers));
  for (const char* line : {
           "",
           "offer",
           "offer p05",
           "offer p05 78 11",
           "offer p06 78 10",
           "offer p06 78 13",
           "offer p06 78",
           "offer p06 x 11",
           "offer p08 78 11",
           "offer q06 78 11",
           "offer p06 78 11 11",
           "offer p06 18446744073709551615 11",
           "took p01 9 1 51:4",
           "took p01 10 3 51:4",
           "took p01 10 1 51",
           "took p01 10 1 51:256",
           "took p01 10 1 10:0",

           "closed p06 77 1",
           "closed p05 76 1",
           "closed p05 77",
           "closed p05 77 1 1",
           "lost p05 77 1",
       }) {
    CAPTURE(line);
    CHECK_FALSE(held.apply(line, kPeers));
    CHECK(ids_of(held) == std::vector<std::uint32_t>{10, 11, 12, 50});
    CHECK(held.open().size() == 1);
  }
}

TEST_CASE("reading stops at the first line that is none") {
  const std::vector<std::uint32_t> ids{10};
  const std::vector<std::uint8_t> labels{0};
  const std::vector<std::string> lines{"took p01 9 1 50:4", "took p01", "took p01 11 1 51:4"};
  std::optional<std::size_t> bad;
  const Holdings held = read_holdings(ids, labels, lines, kPeers, &bad);
  CHECK(bad == 1u);
  CHECK(held.labels().size() == 2);
}
