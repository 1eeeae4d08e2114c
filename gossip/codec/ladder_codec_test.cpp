// SPDX-License-Identifier: Apache-2.0
// The codec that chooses: fewer bytes when exchanges take too much of the time between merges, more
// when they would still be quick; and any rung understands what any other peer's rung has said.
#include "gossip/codec/ladder_codec.hpp"

#include <cmath>

#include "gossip/codec/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;

const std::vector<double> kBytes{4000.0, 1000.0, 500.0, 125.0, 32.0};

// The rung on which a ladder stays when a byte takes this long, in terms of the time between
// merges.
std::size_t settled(double a_byte) {
  Ladder ladder(kBytes);
  std::size_t changes = 0;
  for (int exchange = 0; exchange < 100; ++exchange) {
    const bool has_changed = ladder.add(a_byte * kBytes[ladder.rung()]);
    changes += exchange >= 50 && has_changed;
  }
  CHECK(changes == 0);
  return ladder.rung();
}

std::shared_ptr<const CodecPlan> ladder_plan(const kernels::Layout& layout,
                                             std::span<const float> start) {
  CodecSettings settings;
  settings.kind = Kind::ladder;
  return make_codec_plan(settings, layout, start, 3);
}

}  // namespace

TEST_CASE("A ladder settles where exchanges take no more than half of the time, for any link") {
  for (double a_byte = 1e-7; a_byte < 1.0; a_byte *= 1.7) {
    const std::size_t rung = settled(a_byte);
    INFO("a byte takes " << a_byte << " of the time between merges, rung " << rung);
    CHECK((a_byte * kBytes[rung] <= Ladder::kMost || rung == 4));
    if (rung > 0) CHECK(a_byte * kBytes[rung - 1] > Ladder::kLeast);
  }
  CHECK(settled(1e-6) == 0);
  CHECK(settled(1.0) == 4);
}

TEST_CASE(
    "A ladder begins in the middle, gives way at once, comes back after three quick exchanges") {
  Ladder ladder(kBytes);
  CHECK(ladder.rung() == 2);
  CHECK(ladder.add(3.0));
  CHECK(ladder.rung() == 4);  // 3 x 125 / 500 is still too much
  std::size_t quick = 0;
  while (ladder.rung() == 4 && quick < 20) {
    ladder.add(0.0);
    ++quick;
  }
  CHECK(quick >= Ladder::kCalm);
  CHECK(ladder.rung() == 3);
  CHECK(!ladder.add(std::nan("")));
  CHECK(!ladder.add(-1.0));
  CHECK(Ladder({8.0}).rung() == 0);
}

TEST_CASE("Whatever a peer speaks, its partner understands, and answers alike") {
  const kernels::Layout layout = layered();
  const std::size_t n = layout.size();
  const std::vector<float> start = normals(n, 0.05, 1);
  const auto plan = ladder_plan(layout, start);
  const auto speaker = plan->make(PeerId(0)), listener = plan->make(PeerId(1));
  std::vector<float> w = start, other = start, in(n);
  drift(w, 0.01, 2);
  drift(other, 0.01, 3);
  std::vector<std::size_t> bytes;
  for (int rung = 0; rung < 3; ++rung) {
    const auto question = speaker->encode(w, nullptr);
    const std::string spoken = *speaker->spoken();
    INFO(spoken);
    bytes.push_back(question->bytes.size());
    CHECK(question->bytes.size() <= plan->most_bytes());
    REQUIRE(listener->decode(*question, other, in).fault == "");
    const auto answer = listener->encode(other, question.get());
    CHECK(*listener->spoken() == spoken);
    REQUIRE(speaker->decode(*answer, w, in).fault == "");
    const auto change = speaker->adapt(0.9);
    if (rung == 2) break;
    REQUIRE(change);
    CHECK(change->from == spoken);
    CHECK(change->to != spoken);
  }
  CHECK(std::is_sorted(bytes.rbegin(), bytes.rend()));
  for (int quick = 0; quick < 100; ++quick) speaker->adapt(0.0);
  CHECK(speaker->encode(w, nullptr)->bytes.size() == plan->most_bytes());
  CHECK(*speaker->spoken() == "fp32");
  merge::Packed nonsense{{1, 2, 3, 4, 5, 6}};
  CHECK(listener->decode(nonsense, other, in).fault != "");
}

TEST_CASE("A ladder goes on from a kept state as it was") {
  const kernels::Layout layout = layered();
  const std::vector<float> start = normals(layout.size(), 0.05, 1);
  const auto plan = ladder_plan(layout, start);
  const auto codec = plan->make(PeerId(0)), again = plan->make(PeerId(0));
  std::vector<float> w = start;
  drift(w, 0.01, 2);
  codec->encode(w, nullptr);
  codec->adapt(0.9);
  codec->encode(w, nullptr);
  Archive kept;
  codec->state(kept);
  Archive from(Archive::Json::parse(kept.json().dump()), kept.arrays());
  from.of_model(layout.size());
  from.of_pool(4);
  again->state(from);
  for (int message = 0; message < 6; ++message) {
    drift(w, 0.01, 10 + static_cast<std::uint64_t>(message));
    REQUIRE(codec->encode(w, nullptr)->bytes == again->encode(w, nullptr)->bytes);
    const double busy = message < 2 ? 0.9 : 0.01;
    CHECK(codec->adapt(busy).has_value() == again->adapt(busy).has_value());
  }
  Archive::Json changed = kept.json();
  changed["ladder"]["rung"] = 9;
  Archive wrong(changed, kept.arrays());
  CHECK_THROWS_AS(again->state(wrong), ArchiveFault);
}

}  // namespace hearsay::gossip
