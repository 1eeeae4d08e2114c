// SPDX-License-Identifier: Apache-2.0
// The codec that chooses: fewer bytes when exchanges take too much of the time between merges, more
// when they would still be quick; and any rung understands what any other peer's rung has said.
#include "gossip/codec/ladder_codec.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "gossip/codec/testkit_pair.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;

const std::vector<double> kBytes{4000.0, 1000.0, 500.0, 125.0, 32.0};

struct Settled {
  std::vector<int> at;  // [rung] of the last 500 exchanges
  int too_busy = 0;     // of these
  std::size_t rung() const {
    return static_cast<std::size_t>(std::max_element(at.begin(), at.end()) - at.begin());
  }
};

// A byte takes this long in terms of the time between merges, and partners up to `wait` to answer.
Settled settled(double a_byte, double wait) {
  Ladder ladder(kBytes);
  auto rng = kernels::Rng::stream(7, "waits");
  Settled result{std::vector<int>(kBytes.size())};
  for (int exchange = 0; exchange < 600; ++exchange) {
    const double link = a_byte * kBytes[ladder.rung()];
    if (exchange >= 100) {
      ++result.at[ladder.rung()];
      result.too_busy += link - a_byte * kBytes.back() > Ladder::kMost;
    }
    ladder.add(wait * rng.uniform() + link);
  }
  return result;
}

CodecSettings ladder() {
  CodecSettings settings;
  settings.kind = Kind::ladder;
  return settings;
}

}  // namespace

TEST_CASE("A ladder seldom keeps a link too busy, and waiting for partners is not the link") {
  const double wait = GENERATE(0.0, 0.5, 2.0);
  for (double a_byte = 1e-7; a_byte < 1.0; a_byte *= 1.7) {
    const Settled found = settled(a_byte, wait);
    INFO("a byte takes " << a_byte << " of the time between merges, waits " << wait << ", rung "
                         << found.rung());
    // Looks at several exchanges before it steps back, the less the longer they take.
    CHECK(found.too_busy <= (wait > 1.0 ? 125 : 50));
    if (a_byte * kBytes[0] <= 0.5 * Ladder::kMost) {
      CHECK(found.rung() == 0);
      CHECK(found.at[0] >= (wait > 1.0 ? 300 : 450));
    }
  }
  CHECK(settled(1.0, wait).rung() >= 3);
}

TEST_CASE("A ladder begins with few bytes, tries more while exchanges are quick, gives way") {
  Ladder ladder(kBytes);
  CHECK(ladder.rung() == 4);
  CHECK(ladder.add(Ladder::kQuick + 1.0));
  CHECK(ladder.rung() == 3);
  CHECK(ladder.add(Ladder::kQuick + 1.0));
  CHECK(ladder.rung() == 2);
  CHECK(ladder.add(15.0));  // one is enough to say so
  CHECK(ladder.rung() > 2);
  const auto rung = ladder.rung();
  std::uint64_t patience = 0;
  while (ladder.rung() >= rung && patience < 100) {
    ladder.add(0.1);
    ++patience;
  }
  CHECK(patience == 2 * Ladder::kWindow);  // the attempt was in vain
  CHECK(ladder.rung() == rung - 1);
  CHECK_FALSE(ladder.add(2.8));  // perhaps the partner
  CHECK_FALSE(ladder.add(3.5));
  CHECK(ladder.add(3.2));
  CHECK(ladder.rung() >= rung);
  CHECK(!ladder.add(std::nan("")));
  CHECK(!ladder.add(-1.0));
  CHECK(Ladder({8.0}).rung() == 0);
}

TEST_CASE("A ladder rises by two rungs at once while exchanges are quick") {
  Ladder ladder(kBytes);
  for (const std::size_t rung : {2u, 0u}) {
    CHECK(ladder.add(0.1));
    CHECK(ladder.rung() == rung);
  }
  CHECK_FALSE(ladder.add(0.1));
}

TEST_CASE("A ladder takes no more bytes than a bandwidth is enough for, whatever the link says") {
  const kernels::Layout layout = layered();
  const std::vector<float> start = normals(layout.size(), 0.05, 1);
  const auto plan = make_codec_plan(ladder(), layout, start, 3);
  const auto codec = plan->make(PeerId(0));
  std::vector<float> w = start;
  const double all = 4.0 * static_cast<double>(layout.size());
  const auto bytes = [&] {
    drift(w, 0.01, 2);
    const auto message = codec->encode(w, nullptr);
    return message ? static_cast<double>(message->bytes.size()) : all;
  };
  for (int exchange = 0; exchange < 40; ++exchange) codec->adapt(0.0);
  CHECK(bytes() == all);
  CHECK_FALSE(codec->afford(all).has_value());
  const auto less = codec->afford(all / 3.0);
  REQUIRE(less.has_value());
  CHECK(less->from == "raw");
  CHECK(bytes() <= all / 3.0);
  CHECK(bytes() > all / 6.0);
  CHECK_FALSE(codec->adapt(0.0).has_value());
  CHECK(codec->afford(1.0).has_value());  // less than any: the last one
  CHECK(bytes() < all / 20.0);
  CHECK(codec->afford(1e9)->to == "raw");
}

TEST_CASE("Whatever a peer speaks, its partner understands, and answers alike") {
  const TwoPeers peers(ladder(), 0.01);
  const auto &speaker = peers.first, &listener = peers.second;
  const auto& plan = peers.plan;
  const std::vector<float>&w = peers.of_first, &other = peers.of_second;
  std::vector<float> in(peers.size());
  std::vector<std::size_t> bytes;
  std::optional<CodecChange> change;
  for (int exchange = 0; exchange < 40; ++exchange) {
    const auto question = speaker->encode(w, nullptr);
    const std::string spoken = *speaker->spoken();
    if (!question) {
      CHECK(spoken == "raw");
      break;
    }
    INFO(spoken);
    bytes.push_back(question->bytes.size());
    CHECK(question->bytes.size() <= plan->most_bytes());
    REQUIRE(listener->decode(*question, other, in).fault == "");
    const auto answer = listener->encode(other, question.get());
    CHECK(*listener->spoken() == spoken);
    REQUIRE(speaker->decode(*answer, w, in).fault == "");
    change = speaker->adapt(Ladder::kQuick + 1.0);
    REQUIRE(change.has_value());
    CHECK(change->from == spoken);
    CHECK(change->to != spoken);
  }
  CHECK(bytes.size() == 4);
  CHECK(bytes.front() < bytes.back() / 8);
  CHECK(bytes.back() == plan->most_bytes());
  CHECK(plan->also_raw());
  CHECK(change->to == "raw");
  // Whoever would send whole weights still answers in the codec of the question.
  const auto question = listener->encode(other, nullptr);
  const auto answer = speaker->encode(w, question.get());
  REQUIRE(answer != nullptr);
  CHECK(*speaker->spoken() == *listener->spoken());
  CHECK(listener->decode(*answer, other, in).fault == "");
  merge::Packed nonsense{{1, 2, 3, 4, 5, 6}};
  CHECK(listener->decode(nonsense, other, in).fault != "");
}

TEST_CASE("A ladder goes on from a kept state as it was") {
  const TwoPeers peers(ladder(), 0.01);
  const auto& codec = peers.first;
  const auto again = peers.plan->make(PeerId(0));
  std::vector<float> w = peers.of_first;
  codec->encode(w, nullptr);
  codec->adapt(9.0);
  codec->encode(w, nullptr);
  Archive kept;
  codec->state(kept);
  Archive from(Archive::Json::parse(kept.json().dump()), kept.arrays());
  from.of_model(peers.size());
  from.of_pool(4);
  again->state(from);
  for (int message = 0; message < 6; ++message) {
    drift(w, 0.01, 10 + static_cast<std::uint64_t>(message));
    const auto one = codec->encode(w, nullptr), other = again->encode(w, nullptr);
    REQUIRE((one == nullptr) == (other == nullptr));
    REQUIRE((!one || one->bytes == other->bytes));
    const double busy = message == 4 ? 9.0 : 0.01;
    CHECK(codec->adapt(busy).has_value() == again->adapt(busy).has_value());
  }
  for (const char* pointer : {"/ladder/rung", "/first"}) {
    Archive::Json changed = kept.json();
    changed[Archive::Json::json_pointer(pointer)] = 9;
    Archive wrong(changed, kept.arrays());
    CHECK_THROWS_AS(again->state(wrong), ArchiveFault);
  }
}

}  // namespace hearsay::gossip
