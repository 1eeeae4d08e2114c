// SPDX-License-Identifier: Apache-2.0
// What a peer makes of examples that others send while it trains: one of them crowds nobody out,
// and lists that cannot be read speak against their sender whatever its models are like.
#include <chrono>
#include <vector>

#include "gossip/examples/testkit.hpp"
#include "gossip/limits.hpp"
#include "gossip/protocols/gossip_peer.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using namespace hearsay::gossip::testkit;
using namespace std::chrono_literals;

namespace {

constexpr ExampleShape kShape{.values = 5, .classes = 10, .examples = 4000, .peers = 4};
const input::StepDone kStep{{1, 0.5, 1, 0.1}};

struct Seat {
  Seat() : protocol(made()), model({1.0f}, kShape, {0, 1, 2}) { on(input::Start{}); }
  static GossipSettings made() {
    GossipSettings s = settings(0, 4, ExchangeKind::push);
    s.blocks = {1000.0, BlockMode::steps, 1000, 1000};
    s.transfers = std::make_shared<const TransferPlan>(TransferPlan{8, false, "test"});
    return s;
  }
  Actions on(const Input& input) {
    Actions out;
    protocol.on(input, 1s, model, out);
    return out;
  }
  Actions offered(std::uint32_t from, std::uint64_t seq, bool readable = true) {
    Frame frame;
    frame.kind = FrameKind::examples;
    frame.from = PeerId(from);
    frame.to = PeerId(0);
    frame.seq = seq;
    frame.wants_ack = true;
    frame.packed =
        encode({TinyStore::example_of(static_cast<std::uint32_t>(seq) + 10, kShape)}, kShape);
    if (!readable) frame.packed = std::make_shared<const hearsay::merge::Packed>();
    return on(input::FrameIn{frame});
  }
  Actions pushed(std::uint32_t from, std::uint64_t seq) {
    Frame frame;
    frame.kind = FrameKind::push;
    frame.from = PeerId(from);
    frame.to = PeerId(0);
    frame.seq = seq;
    const std::vector<float> good{1.0f};
    frame.values = model.copy(good);
    return on(input::FrameIn{frame});
  }
  GossipPeer protocol;
  TinyPeerModel model;
};

std::size_t receipts(Actions actions, std::uint32_t to) {
  std::size_t count = 0;
  for (const action::Send& send : take<action::Send>(actions))
    count += send.frame.kind == FrameKind::receipt && send.frame.to == PeerId(to);
  return count;
}

bool calls_bad(Actions actions) {
  for (const action::Record& record : take<action::Record>(actions)) {
    for (const Field& field : record.event.fields) {
      if (field.value == FieldValue(std::string("bad examples"))) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("one member that sends lists without end leaves room for the others") {
  Seat seat;
  for (std::uint64_t seq = 1; seq <= 200; ++seq) seat.offered(1, seq);
  seat.offered(2, 300);
  const Actions actions = seat.on(kStep);
  CHECK(receipts(actions, 1) == limits::kOffersOfOne);
  CHECK(receipts(actions, 2) == 1);
}

TEST_CASE("good models do not make up for lists that cannot be read, and good lists do") {
  Seat seat;
  std::uint64_t seq = 1;
  const auto list = [&](bool readable) {
    seat.offered(1, seq++, readable);
    seat.pushed(1, seq++);
    return calls_bad(seat.on(kStep));
  };
  CHECK_FALSE(list(false));
  CHECK_FALSE(list(false));
  CHECK_FALSE(list(true));
  CHECK_FALSE(list(false));
  CHECK_FALSE(list(false));
  CHECK(seat.protocol.counters().merges_applied == 5);
  CHECK(list(false));
}
