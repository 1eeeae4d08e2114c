// SPDX-License-Identifier: Apache-2.0
#include "gossip/examples/transfers.hpp"

#include <deque>
#include <memory>

#include "gossip/examples/testkit.hpp"
#include "gossip/peer_state.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using namespace hearsay::gossip::testkit;
using hearsay::kernels::Rng;

namespace {

constexpr std::uint32_t kPeers = 4, kEach = 40;
constexpr ExampleShape kShape{
    .values = 5, .classes = 10, .examples = kPeers * kEach, .peers = kPeers};

std::vector<std::uint32_t> ids_of(std::uint32_t peer) {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t i = 0; i < kEach; ++i) ids.push_back(peer * kEach + i);
  return ids;
}

std::shared_ptr<const TransferPlan> plan(std::uint32_t most, bool copies = false) {
  return std::make_shared<const TransferPlan>(TransferPlan{most, copies, "test"});
}

// One peer with its disk: what outlives it is `written` alone.
struct Node {
  explicit Node(std::uint32_t id, std::uint32_t most = 8, bool copies = false)
      : self(id), most_(most), copies_(copies) {
    begin();
  }
  void begin() {
    GossipSettings s = settings(self, kPeers, ExchangeKind::pairwise);
    s.incarnation = life;
    s.transfers = plan(most_, copies_);
    peer = std::make_unique<PeerState>(s);
    model = std::make_unique<TinyPeerModel>(std::vector<float>{0.0f}, kShape, ids_of(self));
    if (life == 0) return;
    std::vector<std::uint8_t> labels;
    for (const std::uint32_t id : ids_of(self))
      labels.push_back(static_cast<std::uint8_t>(id % 10));
    std::optional<std::size_t> bad;
    const Holdings held = read_holdings(ids_of(self), labels, written, kPeers, &bad);
    REQUIRE_FALSE(bad);
    model->store.recollect(held);
    peer->transfers->restore(held);
  }
  void die_and_return() {
    ++life;
    begin();
  }
  // What one call has to say; lines are on disk before anything is sent.
  template <typename Call>
  std::vector<Frame> turn(Time now, Call&& call) {
    Actions out;
    Turn turn{now, *model, out};
    call(*peer->transfers, *peer, turn);
    std::vector<Frame> sent;
    for (Action& action : out) {
      if (auto* note = std::get_if<action::Persist>(&action)) {
        CHECK(sent.empty());
        written.push_back(note->line);
      }
      if (auto* send = std::get_if<action::Send>(&action)) sent.push_back(std::move(send->frame));
    }
    return sent;
  }
  std::vector<Frame> offer(std::uint32_t to, Time now = Time{0}) {
    return turn(now, [&](Transfers& t, PeerState& p, Turn& u) { t.offer(PeerId(to), p, u); });
  }
  std::vector<Frame> receive(const Frame& frame, Time now = Time{0}) {
    return turn(now, [&](Transfers& t, PeerState& p, Turn& u) { t.receive(frame, p, u); });
  }
  std::vector<Frame> ask(Time now) {
    return turn(now, [&](Transfers& t, PeerState& p, Turn& u) { t.ask_again(p, u); });
  }
  bool owns(std::uint32_t id) const {
    const auto found = model->store.aside.find(id);
    return found != model->store.aside.end() && !found->second;
  }

  std::uint32_t self, life = 0;
  std::unique_ptr<PeerState> peer;
  std::unique_ptr<TinyPeerModel> model;
  std::vector<std::string> written;

 private:
  std::uint32_t most_;
  bool copies_;
};

constexpr Time kLater = Time(limits::kAskAgain);

}  // namespace

TEST_CASE("an offer, a receipt, and the examples have another owner") {
  Node giver(0), taker(1);
  const auto offer = giver.offer(1);
  REQUIRE(offer.size() == 1);
  CHECK(offer[0].kind == FrameKind::examples);
  CHECK(offer[0].example_bytes() == 8 * kShape.bytes());
  CHECK_FALSE(giver.owns(0));
  CHECK(giver.offer(1).empty());  // one at a time
  const auto receipt = taker.receive(offer[0]);
  REQUIRE(receipt.size() == 1);
  CHECK(receipt[0].kind == FrameKind::receipt);
  CHECK(taker.owns(0));
  CHECK(giver.receive(receipt[0]).empty());
  CHECK_FALSE(giver.model->store.aside.contains(0));
  CHECK(giver.peer->transfers->all_settled());
  CHECK(giver.receive(receipt[0]).empty());  // once more changes nothing
  CHECK(taker.receive(offer[0]).size() == 1);
  CHECK(taker.model->store.aside.size() == kEach + 8);
  CHECK(giver.written.size() == 2);
  CHECK(taker.written.size() == 1);
}

TEST_CASE("an offer that was lost is void once the giver has asked, even if it still comes") {
  Node giver(0), taker(1);
  const auto offer = giver.offer(1);
  CHECK(giver.ask(Time{1}).empty());  // too early
  const auto question = giver.ask(kLater);
  REQUIRE(question.size() == 1);
  CHECK(question[0].kind == FrameKind::offered);
  const auto answer = taker.receive(question[0]);
  REQUIRE(answer.size() == 1);
  CHECK(answer[0].seq == 0);
  CHECK(taker.receive(offer[0]).size() == 1);  // the same receipt again
  CHECK_FALSE(taker.owns(0));
  giver.receive(answer[0]);
  CHECK(giver.owns(0));
}

TEST_CASE("a receipt that was lost is given again") {
  Node giver(0), taker(1);
  const auto offer = giver.offer(1);
  taker.receive(offer[0]);
  const auto again = taker.receive(giver.ask(kLater).at(0));
  REQUIRE(again.size() == 1);
  CHECK(again[0].seq == 0xff);
  giver.receive(again[0]);
  CHECK(taker.owns(0));
  CHECK_FALSE(giver.model->store.aside.contains(0));
}

TEST_CASE(
    "what cannot be read is refused with a receipt of nothing, and speaks against its sender") {
  Node giver(0), taker(1);
  auto offer = giver.offer(1);
  auto bytes = std::make_shared<hearsay::merge::Packed>(*offer[0].packed);
  bytes->bytes[4] = 10;  // no such label
  offer[0].packed = bytes;
  const auto receipt = taker.receive(offer[0]);
  REQUIRE(receipt.size() == 1);
  CHECK(receipt[0].seq == 0);
  giver.receive(receipt[0]);
  CHECK(giver.owns(0));
  CHECK(taker.model->store.aside.size() == kEach);
}

TEST_CASE("one that the taker has already stays with both as it was") {
  Node giver(0), taker(1);
  taker.model->store.aside.emplace(3, false);
  const auto receipt = taker.receive(giver.offer(1)[0]);
  CHECK(receipt[0].seq == (0xffu & ~(1u << 3)));
  giver.receive(receipt[0]);
  CHECK(giver.owns(3));
  CHECK(taker.owns(3));
}

TEST_CASE("a start that counts as an earlier one did numbers no offer as an earlier one") {
  Node giver(0), taker(1);
  giver.receive(taker.receive(giver.offer(1)[0])[0]);
  giver.receive(taker.receive(giver.offer(1)[0])[0]);
  CHECK(taker.model->store.aside.size() == kEach + 16);
  giver.life = 1;  // twice the same start, as when its number was lost
  for (int start = 0; start < 2; ++start) {
    giver.begin();
    giver.receive(taker.receive(giver.offer(1)[0])[0]);
    CHECK(giver.peer->transfers->all_settled());
    CHECK(taker.model->store.aside.size() == kEach + 24 + 8 * static_cast<std::size_t>(start));
  }
  CHECK(giver.model->store.aside.size() == kEach - 32);
}

TEST_CASE("copies need no receipt, and nothing is set aside or written down") {
  Node giver(0, 8, true), taker(1, 8, true);
  const auto offer = giver.offer(1);
  REQUIRE(offer.size() == 1);
  CHECK_FALSE(offer[0].wants_ack);
  CHECK(taker.receive(offer[0]).empty());
  CHECK(giver.owns(0));
  CHECK(giver.written.empty());
  CHECK(taker.written.empty());
}

// Messages are lost, delayed, repeated and overtaken; peers die between any two of them and come
// back with what they had written down.
TEST_CASE("no example is lost or owned twice, whatever happens to messages and peers") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  Rng rng = Rng::stream(seed, "transfers-test");
  std::vector<Node> nodes;
  for (std::uint32_t i = 0; i < kPeers; ++i) nodes.emplace_back(i, 1 + i);
  std::deque<Frame> wire;
  Time now{0};
  const auto send = [&](std::vector<Frame> frames) {
    for (Frame& frame : frames) {
      if (rng.uniform() < 0.2) continue;               // lost
      if (rng.uniform() < 0.1) wire.push_back(frame);  // said twice
      wire.push_back(std::move(frame));
    }
  };
  const auto is_sound = [&](bool at_end) {
    for (std::uint32_t id = 0; id < kPeers * kEach; ++id) {
      std::uint32_t owners = 0, aside = 0;
      for (const Node& node : nodes) {
        owners += node.owns(id);
        aside += node.model->store.aside.contains(id) && !node.owns(id);
      }
      if (owners > 1 || owners + aside == 0 || (at_end && owners != 1)) return false;
    }
    return true;
  };
  for (int step = 0; step < 2000; ++step) {
    now += Time(std::chrono::milliseconds(100));
    Node& node = nodes[rng.below(kPeers)];
    const std::uint32_t other = (node.self + 1 + rng.below(kPeers - 1)) % kPeers;
    const double what = rng.uniform();
    if (what < 0.2) {
      send(node.offer(other, now));
    } else if (what < 0.3) {
      send(node.ask(now));
    } else if (what < 0.32) {
      node.die_and_return();
    } else if (!wire.empty()) {
      const auto which =
          rng.uniform() < 0.7 ? 0 : rng.below(static_cast<std::uint32_t>(wire.size()));
      const Frame frame = wire[which];
      wire.erase(wire.begin() + which);
      if (rng.uniform() < 0.02) nodes[frame.to.value].die_and_return();
      send(nodes[frame.to.value].receive(frame, now));
    }
    REQUIRE(is_sound(false));
  }
  // Once messages come through, every offer is settled.
  for (int round = 0; round < 8; ++round) {
    now += 2 * kLater;
    std::deque<Frame> all = std::move(wire);
    wire.clear();
    for (Node& node : nodes) {
      for (Frame& frame : node.ask(now)) all.push_back(std::move(frame));
    }
    while (!all.empty()) {
      const Frame frame = all.front();
      all.pop_front();
      for (Frame& more : nodes[frame.to.value].receive(frame, now)) all.push_back(std::move(more));
    }
  }
  for (const Node& node : nodes) CHECK(node.peer->transfers->all_settled());
  CHECK(is_sound(true));
}

TEST_CASE("offers that are open go on from an archive") {
  Node giver(0), taker(1);
  const auto offer = giver.offer(1);
  Archive out;
  out("transfers", *giver.peer->transfers);
  Node later(0);
  Archive in(out.json(), out.arrays());
  in("transfers", *later.peer->transfers);
  CHECK(later.peer->transfers->open() == 1);
  const auto receipt = taker.receive(offer[0]);
  later.model->store.settle(std::vector<std::uint32_t>{}, 0);
  later.receive(receipt[0]);
  CHECK(later.peer->transfers->all_settled());
  CHECK_FALSE(later.model->store.aside.contains(0));
}
