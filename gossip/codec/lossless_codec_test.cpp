// SPDX-License-Identifier: Apache-2.0
// The bf16 model to the bit: what arrives is what was sent, or refused before anything changes, and
// the exchanges after a loss put it right; whatever is lost, reordered, damaged or restored.
#include "gossip/codec/lossless_codec.hpp"

#include <cstring>

#include "gossip/codec/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;

constexpr float kUntouched = -7777.0f;
const PeerId kMe(0), kYou(1);

std::shared_ptr<const CodecPlan> plan_of(const kernels::Layout& layout, std::uint32_t anchor = 32) {
  CodecSettings settings;
  settings.kind = Kind::lossless;
  settings.anchor = anchor;
  return make_codec_plan(settings, layout, normals(layout.size(), 0.05, 1), 3);
}

// Some weights move by enough to be seen in bf16.
void step(std::vector<float>& w, std::uint64_t seed, double share = 0.05) {
  kernels::Rng rng = kernels::Rng::stream(seed, "lossless-test");
  for (float& each : w)
    if (rng.uniform() < share) each += static_cast<float>(0.02 * rng.normal());
}

struct Listener {
  std::unique_ptr<Codec> codec;
  std::vector<float> in, base;

  Listener(const CodecPlan& plan, PeerId self, std::size_t n)
      : codec(plan.make(self)), in(n), base(n, kUntouched) {}
  Unpacked hear(const merge::Packed& message, PeerId from) {
    std::fill(in.begin(), in.end(), kUntouched);
    return codec->decode_from(from, message, base, in);
  }
  // The bits of `w` in bf16, no other.
  bool holds(const std::vector<float>& w) const {
    std::vector<float> exact(w.size());
    widen_bits(*bf16_bits(w, w), exact);
    return std::memcmp(exact.data(), in.data(), 4 * w.size()) == 0;
  }
};

std::uint32_t field(const merge::Packed& message, std::size_t index) {  // of the head
  std::uint32_t value = 0;
  std::memcpy(&value, message.bytes.data() + kPackedHead + 4 * index, 4);
  return value;
}
std::uint32_t base_of(const merge::Packed& message) { return field(message, 2); }

}  // namespace

TEST_CASE("What arrives is the bf16 model, bit for bit, for changes, anchors and special values") {
  const kernels::Layout layout = layered();
  const std::size_t n = layout.size();
  const auto plan = plan_of(layout, 8);
  const auto speaker = plan->make(kMe);
  Listener listener(*plan, kYou, n);
  std::vector<float> w = normals(n, 0.05, 1);
  std::vector<std::size_t> bytes;
  for (std::uint64_t m = 0; m < 24; ++m) {
    step(w, m);
    w[m] = m % 2 == 0 ? 0.0f : -0.0f;
    w[100 + m] = m % 2 == 0 ? 1e-40f : 3.4e38f;  // subnormal; would round to infinity
    const auto said = speaker->encode_for(kYou, w, nullptr);
    REQUIRE(listener.hear(*said, kMe).fault == "");
    REQUIRE(listener.holds(w));
    CHECK(said->bytes.size() <= plan->most_bytes());
    CHECK((base_of(*said) == 0) == (m % 8 == 0));
    bytes.push_back(said->bytes.size());
    // Whoever has made a message reads it back.
    REQUIRE(speaker->decode(*said, w, listener.in).fault == "");
    CHECK(listener.holds(w));
  }
  CHECK(bytes[8] == plan->most_bytes());
  CHECK(bytes[9] < bytes[8] / 5);
  CHECK(bytes[12] > bytes[11]);  // all since the anchor
}

TEST_CASE("Weights in which nothing has changed cost a head and a count") {
  const auto plan = plan_of(plain(5000));
  const auto speaker = plan->make(kMe);
  Listener listener(*plan, kYou, 5000);
  const std::vector<float> w = normals(5000, 1.0, 2);
  speaker->encode_for(kYou, w, nullptr);
  CHECK(speaker->encode_for(kYou, w, nullptr)->bytes.size() < 40);
  const auto tiny = plan_of(plain(1));  // where changes are no shorter, it is whole
  const auto small = tiny->make(kMe);
  small->encode_for(kYou, std::vector{1.0f}, nullptr);
  CHECK(base_of(*small->encode_for(kYou, std::vector{2.0f}, nullptr)) == 0);
}

TEST_CASE("A message that counts on a lost one changes nothing; one in four heals, or an answer") {
  const kernels::Layout layout = layered();
  const std::size_t n = layout.size();
  const auto plan = plan_of(layout);
  const auto speaker = plan->make(kMe);
  Listener listener(*plan, kYou, n);
  std::vector<float> w = normals(n, 0.05, 1);
  const auto next = [&](std::uint64_t seed) {
    step(w, seed);
    return speaker->encode_for(kYou, w, nullptr);
  };
  REQUIRE(listener.hear(*next(0), kMe).fault == "");
  next(1);  // lost
  const Unpacked broken = listener.hear(*next(2), kMe);
  CHECK(broken.fault.find("does not hold") != std::string::npos);
  CHECK(broken.is_lost);
  CHECK(listener.in == listener.base);
  CHECK(listener.hear(*next(3), kMe).is_lost);
  REQUIRE(listener.hear(*next(4), kMe).fault == "");  // the fourth since the anchor
  CHECK(listener.holds(w));

  next(5);                // lost
  speaker->missed(kYou);  // as the exchange finds out
  REQUIRE(listener.hear(*next(6), kMe).fault == "");
  CHECK(listener.holds(w));

  next(7);  // lost; but what its receiver says next tells of it
  const auto answer = listener.codec->encode_for(kMe, w, nullptr);
  std::vector<float> in(n);
  REQUIRE(speaker->decode_from(kYou, *answer, w, in).fault == "");
  REQUIRE(listener.hear(*next(8), kMe).fault == "");
  CHECK(listener.holds(w));
}

TEST_CASE("Who has lost everything is told everything") {
  const std::size_t n = 3000;
  const auto plan = plan_of(plain(n));
  const auto speaker = plan->make(kMe);
  std::vector<float> w = normals(n, 0.05, 1);
  {
    Listener first(*plan, kYou, n);
    for (std::uint64_t m = 0; m < 3; ++m) {
      step(w, m);
      REQUIRE(first.hear(*speaker->encode_for(kYou, w, nullptr), kMe).fault == "");
    }
  }
  Listener again(*plan, kYou, n);  // the same peer, started anew
  int refused = 0;
  for (std::uint64_t m = 3; !again.hear(*speaker->encode_for(kYou, w, nullptr), kMe).fault.empty();
       ++m) {
    speaker->missed(kYou);
    step(w, m);
    REQUIRE(++refused <= 2);  // changes, changes since the anchor
  }
  CHECK(again.holds(w));
}

TEST_CASE("Whatever is lost, doubled or reordered, what is accepted is exact, and most is") {
  const std::size_t n = 2500;
  const auto plan = plan_of(plain(n), 16);
  kernels::Rng rng = kernels::Rng::stream(7, "lossless-network");
  Listener peers[] = {{*plan, PeerId(0), n}, {*plan, PeerId(1), n}};
  std::vector<float> weights[] = {normals(n, 0.05, 1), normals(n, 0.05, 1)};
  struct Sent {
    merge::PackedRef message;
    std::vector<float> meant;
  };
  std::vector<Sent> late[2];  // [to]
  int accepted = 0, came = 0;
  const auto deliver = [&](std::size_t to, const Sent& sent) {
    ++came;
    const PeerId from(to == 0 ? 1 : 0);
    const bool good = peers[to].hear(*sent.message, from).fault.empty();
    if (good) REQUIRE(peers[to].holds(sent.meant));
    accepted += good;
  };
  for (std::uint64_t m = 0; m < 400; ++m) {
    const std::size_t from = rng.uniform() < 0.5 ? 0 : 1, to = 1 - from;
    step(weights[from], m);
    const PeerId whom(static_cast<std::uint32_t>(to));
    Sent sent{peers[from].codec->encode_for(whom, weights[from], nullptr), weights[from]};
    if (rng.uniform() < 0.2) continue;
    if (rng.uniform() < 0.2) {
      late[to].push_back(sent);
      continue;
    }
    deliver(to, sent);
    if (rng.uniform() < 0.2) deliver(to, sent);
    for (const Sent& each : std::exchange(late[to], {})) deliver(to, each);
  }
  INFO(accepted << " of " << came);
  CHECK(accepted > came / 2);
}

TEST_CASE("A sender restored to an older state is found out by the digest, and heard again soon") {
  const std::size_t n = 2500;
  const auto plan = plan_of(plain(n));
  auto speaker = plan->make(kMe);
  Listener listener(*plan, kYou, n);
  std::vector<float> w = normals(n, 0.05, 1), then;
  Archive kept;
  for (std::uint64_t m = 0; m < 3; ++m) {
    step(w, m);
    REQUIRE(listener.hear(*speaker->encode_for(kYou, w, nullptr), kMe).fault == "");
    if (m == 1) {
      speaker->state(kept);
      then = w;
    }
  }
  speaker = plan->make(kMe);
  Archive from(Archive::Json::parse(kept.json().dump()), kept.arrays());
  from.of_pool(2);
  speaker->state(from);
  step(then, 50);  // another third message than before, of the same version
  const auto lost = speaker->encode_for(kYou, then, nullptr);
  step(then, 51);
  const Unpacked wrong = listener.hear(*speaker->encode_for(kYou, then, nullptr), kMe);
  CHECK(wrong.fault.find("digest") != std::string::npos);
  CHECK(wrong.is_lost);
  CHECK(listener.in == listener.base);
  for (int m = 0; m < 2; ++m) {
    speaker->missed(kYou);
    if (listener.hear(*speaker->encode_for(kYou, then, nullptr), kMe).fault.empty()) break;
  }
  CHECK(listener.holds(then));
}

TEST_CASE("Any changed byte is refused or leaves the bits as they were meant") {
  const std::size_t n = 1100;
  const auto plan = plan_of(plain(n));
  const auto speaker = plan->make(kMe);
  std::vector<float> w = normals(n, 0.05, 1);
  const auto first = speaker->encode_for(kYou, w, nullptr);
  step(w, 1);
  const auto second = speaker->encode_for(kYou, w, nullptr);
  Listener listener(*plan, kYou, n);
  REQUIRE(listener.hear(*first, kMe).fault == "");
  for (std::size_t at = 0; at < second->bytes.size(); ++at) {
    for (const unsigned change : {0x01u, 0x80u, 0xFFu}) {
      merge::Packed damaged = *second;
      damaged.bytes[at] = static_cast<std::uint8_t>(damaged.bytes[at] ^ change);
      Listener other(*plan, kYou, n);
      other.hear(*first, kMe);
      const Unpacked result = other.hear(damaged, kMe);
      if (result.fault.empty()) {
        REQUIRE(other.holds(w));
      } else {
        REQUIRE(other.in == other.base);
      }
    }
  }
  for (std::size_t length = 0; length < second->bytes.size(); ++length) {
    merge::Packed cut;
    cut.bytes.assign(second->bytes.begin(), second->bytes.begin() + static_cast<long>(length));
    REQUIRE(listener.hear(cut, kMe).fault != "");
  }
  CHECK(listener.hear(*second, PeerId(2)).fault == "message names another sender");
  REQUIRE(listener.hear(*second, kMe).fault == "");  // none of this has done harm
}

TEST_CASE("Partners beyond what is remembered hear whole models") {
  const std::size_t n = 1500;
  const auto plan = plan_of(plain(n));
  const auto speaker = plan->make(kMe);
  const std::vector<float> w = normals(n, 0.05, 1);
  const auto base_to = [&](std::uint32_t who) {
    return base_of(*speaker->encode_for(PeerId(who), w, nullptr));
  };
  for (std::uint32_t who = 1; who <= LosslessCodec::kPartners; ++who) CHECK(base_to(who) == 0);
  CHECK(base_to(1) != 0);
  CHECK(base_to(99) == 0);  // takes the place of 2
  CHECK(base_to(3) != 0);
  CHECK(base_to(2) == 0);
}

TEST_CASE("A state of another model, or one that builds on nothing, is refused") {
  const auto plan = plan_of(plain(2000)), larger = plan_of(plain(3000));
  const auto codec = plan->make(kMe), other = larger->make(kMe);
  codec->encode_for(kYou, normals(2000, 1.0, 2), nullptr);
  Archive kept;
  codec->state(kept);
  {
    Archive from(kept.json(), kept.arrays());
    CHECK_THROWS_AS(other->state(from), ArchiveFault);
  }
  const auto refused = [&](const char* pointer, const Archive::Json& value) {
    Archive::Json changed = kept.json();
    changed[Archive::Json::json_pointer(pointer)] = value;
    Archive from(changed, kept.arrays());
    CHECK_THROWS_AS(codec->state(from), ArchiveFault);
  };
  refused("/partners/0/1/trust", 3);
  refused("/partners/0/1/said/version", 0);
  refused("/partners/0/1/said/bits", nullptr);
  refused("/partners/0/1/said_anchor", Archive::Json{{"version", 0}, {"bits", nullptr}});
  refused("/partners/0/1/said/bits/0", 3999);
  refused("/versions", -1);
}

}  // namespace hearsay::gossip
