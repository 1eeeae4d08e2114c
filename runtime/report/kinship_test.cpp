// SPDX-License-Identifier: Apache-2.0
// Who is alike and which examples travelled, from events to figures: what is not known, damaged
// lists, pools of one peer, two and 256.
#include "runtime/report/kinship.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "gossip/event.hpp"
#include "runtime/report/figures.hpp"
#include "runtime/report/journeys.hpp"
#include "runtime/report/page.hpp"
#include "runtime/report/report_testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime::report {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> names_of(std::uint32_t peers) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < peers; ++i) names.push_back(gossip::peer_name(kernels::PeerId(i)));
  return names;
}

// Two groups of neighbours: 0.3 apart inside, 1.5 outside.
Json row_of(std::uint32_t peer, std::uint32_t peers) {
  Json row = Json::array();
  for (std::uint32_t j = 0; j < peers; ++j)
    row.push_back(j == peer ? 0 : (j < peers / 2) == (peer < peers / 2) ? 300 : 1500);
  return row;
}

Json labels_of(std::uint32_t peers, std::uint32_t groups) {
  Json labels = Json::array();
  for (std::uint32_t j = 0; j < peers; ++j) labels.push_back(7 + j / (peers / groups));
  return labels;
}

void look(TestLog& log, double time_s, std::uint32_t peer, const Json& labels, const Json& row) {
  log.add(time_s, gossip::peer_name(kernels::PeerId(peer)), "cluster.updated",
          {{"labels", labels}, {"silhouette", 0.4}, {"ari", 1.0}, {"distances", row}});
}

RunFacts pool_of(std::uint32_t peers, int rounds = 3) {
  TestLog log;
  for (int round = 0; round < rounds; ++round) {
    for (std::uint32_t i = 0; i < peers; ++i)
      look(log, 1.0 + round + i * 1e-3, i, labels_of(peers, round == 0 ? 1 : 2), row_of(i, peers));
  }
  return facts_of({log.log()}, names_of(peers));
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("views become one matrix, a tree in order, and the communities that most agree on") {
  const RunFacts facts = pool_of(8);
  REQUIRE(facts.views.size() == 24);
  CHECK(facts.partitions.size() == 2);
  CHECK(instants_of(facts) == std::vector<double>{1.004, 2.0055, 3.007});
  const auto distances = distances_at(facts, 9.0);
  CHECK(distances(0, 1) == Approx(0.3));
  CHECK(distances(0, 7) == Approx(1.5));
  CHECK(std::isinf(distances_at(facts, 0.5)(0, 1)));
  const clustering::Tree tree = tree_of(facts, distances);
  CHECK(tree.merges.back().height == Approx(1.5));
  CHECK(order_of(tree) == std::vector<PeerIndex>{0, 1, 2, 3, 4, 5, 6, 7});
  const Communities found = communities_of(facts);
  CHECK(found.label == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(found.agreed == 8);
}

TEST_CASE(
    "where two peers see their distance differently the mean counts, and one view is enough") {
  TestLog log;
  look(log, 1.0, 0, {0, 0, 0}, {0, 400, -1});
  look(log, 1.0, 1, {0, 0, 0}, {600, 0, 900});
  const auto distances = distances_at(facts_of({log.log()}, names_of(3)), 1.0);
  CHECK(distances(0, 1) == Approx(0.5));
  CHECK(distances(1, 2) == Approx(0.9));
  CHECK(std::isinf(distances(0, 2)));
}

TEST_CASE("lists that are damaged, too long or too short are as if they were not there") {
  TestLog log;
  look(log, 1.0, 0, {0, 0, 1, 1}, {0, "nan", 1, 2});
  look(log, 2.0, 1, {0, 0, 1, 1}, {1, 0, 1});
  look(log, 3.0, 2, {0, 0, 1, 1}, {1, 2, 0, 9'000'000});
  look(log, 4.0, 3, {0, -1, 1, 1}, {1, 1, 1, 0});
  look(log, 5.0, 3, "none", {1, 1, 1, 0});
  look(log, 6.0, 3, Json::array(), Json::array());
  look(log, 7.0, 3, {18446744073709551615u, 0, 1, 1}, {1.5, 1, 1, 0});
  const RunFacts facts = facts_of({log.log()}, names_of(4));
  CHECK(facts.views.size() == 3);
  for (const View& view : facts.views) CHECK(view.distances.empty());
  CHECK_FALSE(similarity_figure(facts).is_drawn());
  CHECK(communities_figure(facts).is_drawn());
}

TEST_CASE("places that nobody took are left out") {
  TestLog log;
  look(log, 1.0, 0, {0, 1, 0, 1}, {0, 100, 200, 300});
  const RunFacts facts = facts_of({log.log()}, {"p00", "p02", "p03"});
  REQUIRE(facts.views.size() == 1);
  CHECK(facts.partitions[0] == std::vector<std::uint32_t>{0, 0, 1});
  CHECK(facts.views[0].distances[1] == Approx(0.2f));
}

TEST_CASE("groups are those of +rotate, and a split that is none has none") {
  RunFacts facts = pool_of(4);
  CHECK(groups_of(facts).empty());
  facts.config = {{"split", "iid+rotate:groups=2,by=5", "flag"}};
  CHECK(groups_of(facts) == std::vector<std::uint32_t>{0, 0, 1, 1});
  for (const char* text :
       {"iid", "iid+rotate:groups=3,by=5", "iid+rotate:groups=x,by=1", "+", ""}) {
    facts.config[0].value = text;
    CHECK(groups_of(facts).empty());
  }
}

TEST_CASE("figures of who is alike name distances, communities, changes, and what is not known") {
  RunFacts facts = pool_of(8);
  facts.config = {{"split", "iid+rotate:groups=2,by=5", "flag"}};
  const Figure similarity = similarity_figure(facts);
  REQUIRE(similarity.is_drawn());
  CHECK(similarity.finding.find("0.30 apart on average, peers of different ones 1.50") !=
        std::string::npos);
  CHECK(occurrences(similarity.drawing, "class=\"heat-box\"") == 3);
  CHECK(occurrences(similarity.drawing, "apart</title>") == 8 * 7 + 7);  // pairs, and joins
  const Figure communities = communities_figure(facts);
  REQUIRE(communities.is_drawn());
  CHECK(communities.finding.find("8 of 8 peers saw 2 communities (4, 4 peers)") !=
        std::string::npos);
  CHECK(communities.finding.find("They are the groups of the split.") != std::string::npos);
  CHECK(communities.finding.find("changed their members 8 times") != std::string::npos);
  CHECK(occurrences(communities.drawing, "together with all</title>") == 8);
  TestLog log;
  look(log, 1.0, 0, {0, 0, 0, 0}, {0, 400, -1, -1});
  const Figure partly = similarity_figure(facts_of({log.log()}, names_of(4)));
  REQUIRE(partly.is_drawn());
  CHECK(partly.finding.find("Of 5 pairs nothing is known.") != std::string::npos);
  CHECK(partly.drawing.find("nan") == std::string::npos);
  CHECK(partly.drawing.find("inf") == std::string::npos);
}

TEST_CASE("a pool of one, and one without sketches, say so") {
  for (const RunFacts& facts : {facts_of({TestLog().log()}, {"p00"}), pool_of(1, 1)}) {
    CHECK_FALSE(similarity_figure(facts).is_drawn());
    CHECK(similarity_figure(facts).finding.find("--cluster agglo") != std::string::npos);
  }
  CHECK(communities_figure(facts_of({TestLog().log()}, {"p00"})).finding.find("--cluster agglo") !=
        std::string::npos);
}

TEST_CASE("256 peers that never agree stay within their size") {
  TestLog log;
  constexpr std::uint32_t kPeers = 256;
  for (int round = 0; round < 60; ++round) {
    for (std::uint32_t i = 0; i < kPeers; ++i) {
      Json labels = Json::array();
      for (std::uint32_t j = 0; j < kPeers; ++j)
        labels.push_back((j * 7 + static_cast<std::uint32_t>(round) * 13) % 97 % 3);
      look(log, round + i * 1e-3, i, labels, round % 4 == 0 ? row_of(i, kPeers) : Json::array());
    }
  }
  const RunFacts facts = facts_of({log.log()}, names_of(kPeers));
  const Figure similarity = similarity_figure(facts), communities = communities_figure(facts);
  CHECK(similarity.drawing.size() < 400'000);
  CHECK(communities.drawing.size() < 700'000);
  CHECK(similarity.note.find("4 by 4 peers") != std::string::npos);
  CHECK(communities.note.find("left out of the drawing") != std::string::npos);
}

TEST_CASE("examples are followed from peer to peer, with what takers learned") {
  TestLog log;
  const auto give = [&](double t, const char* from, const char* to, const Json& ids) {
    log.add(t, to, "examples.received",
            {{"from", from}, {"count", 2}, {"taken", ids.size()}, {"ids", ids}});
  };
  give(1.0, "p00", "p01", {5, 9});
  give(2.0, "p01", "p02", {9});
  log.add(3.0, "p02", "examples.learned",
          {{"epoch", 1}, {"ids", {9}}, {"before", {120}}, {"after", {810}}});
  log.add(3.0, "p02", "examples.learned",
          {{"epoch", 1}, {"ids", {9, 5}}, {"before", {120}}, {"after", {810}}});  // damaged
  RunFacts facts = facts_of({log.log()}, names_of(3));
  const std::vector<Journey> journeys = journeys_of(facts);
  REQUIRE(journeys.size() == 2);
  CHECK(journeys[0].id == 9);
  CHECK(journeys[0].legs.size() == 2);
  CHECK(facts.lessons.size() == 1);
  const Figure figure = examples_figure(facts);
  REQUIRE(figure.is_drawn());
  CHECK(figure.finding.find("2 examples changed hands 3 times, #9 the most (2).") == 0);
  CHECK(figure.drawing.find("p00 → p01 → p02") != std::string::npos);
  CHECK(figure.drawing.find("p02: 12 → 81") != std::string::npos);
  CHECK(figure.drawing.find("<image") == std::string::npos);
  const std::vector<RunFacts> without{facts};
  CHECK(page_of(make_report(without), without, "x").find("img-src") == std::string::npos);
  facts.thumbnails[9] = {7, "PNG"};
  CHECK(examples_figure(facts).drawing.find("href=\"data:image/png;base64,UE5H\"") !=
        std::string::npos);
  CHECK(examples_figure(facts).note.find("raw data") != std::string::npos);
  const std::vector<RunFacts> with{facts};
  CHECK(page_of(make_report(with), with, "x").find("img-src data:") != std::string::npos);
}

TEST_CASE("without ids the page says how to get them") {
  TestLog log;
  CHECK(examples_figure(facts_of({log.log()}, names_of(2))).finding.find("--share hard") !=
        std::string::npos);
  log.add(1.0, "p01", "examples.received", {{"from", "p00"}, {"count", 2}, {"taken", 2}});
  const Figure figure = examples_figure(facts_of({log.log()}, names_of(2)));
  CHECK_FALSE(figure.is_drawn());
  CHECK(figure.finding.find("--log-examples") != std::string::npos);
}

}  // namespace hearsay::runtime::report
