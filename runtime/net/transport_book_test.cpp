// SPDX-License-Identifier: Apache-2.0
// How peers learn where others listen: from hellos, from the books in them, from later starts; and
// what becomes of two processes that want the same place.
#include "runtime/net/test_socket.hpp"
#include "runtime/net/test_support.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

using gossip::FrameKind;

Hello started(std::uint32_t id, std::uint32_t peers, std::uint64_t incarnation,
              std::uint64_t nonce) {
  Hello hello = hello_of(id, peers, 10);
  hello.incarnation = incarnation;
  hello.nonce = nonce;
  return hello;
}

// One that knows `others` and greets them.
void start_late(PoolPeer& peer, const std::vector<BookEntry>& others) {
  Hello self = peer.hello;
  self.book = others;
  peer.transport.start(std::move(self), peer.seen, true);
}

void start_knowing(PoolPeer& peer, const std::vector<BookEntry>& others) {
  Hello self = peer.hello;
  self.book = others;
  peer.transport.start(std::move(self), peer.seen);
}

}  // namespace

TEST_CASE("a peer whose address nobody has said is down, and is not dialled") {
  PoolPeer peer(started(0, 2, 1, 11));
  start_knowing(peer, {});
  for (std::uint64_t seq = 1; seq <= 3; ++seq) peer.ping(1, seq);
  REQUIRE(eventually([&] { return peer.seen.down_count() == 3; }));
  CHECK(peer.seen.downs().front() == "p01: no address yet");
  CHECK(peer.transport.meter().dials == 0);
}

TEST_CASE("whoever comes late is known to all after it has heard of one") {
  PoolPeer a(started(0, 4, 1, 11)), b(started(1, 4, 1, 12)), c(started(2, 4, 1, 13));
  const std::vector<BookEntry> three{{kernels::PeerId(0), 1, a.address()},
                                     {kernels::PeerId(1), 1, b.address()},
                                     {kernels::PeerId(2), 1, c.address()}};
  for (PoolPeer* peer : {&a, &b, &c}) start_knowing(*peer, three);
  PoolPeer late(started(3, 4, 1, 14));
  start_late(late, {three[0]});
  REQUIRE(eventually([&] { return late.transport.meter().dials == 3; }));
  const std::vector<PoolPeer*> pool{&a, &b, &c};
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::uint64_t seq = 0;
    REQUIRE(eventually([&] {
      pool[i]->ping(3, ++seq);
      return !seqs_from(late.seen.frames(), i).empty();
    }));
  }
  CHECK(late.seen.downs().empty());
}

TEST_CASE("a peer that starts again elsewhere is found at its new address") {
  PoolPeer a(started(0, 3, 0, 11)), c(started(2, 3, 0, 13));
  auto b = std::make_unique<PoolPeer>(started(1, 3, 0, 12));
  const std::vector<BookEntry> all{{kernels::PeerId(0), 0, a.address()},
                                   {kernels::PeerId(1), 0, b->address()},
                                   {kernels::PeerId(2), 0, c.address()}};
  start_knowing(a, all);
  start_knowing(c, all);
  b->start({a.address(), b->address(), c.address()});
  a.ping(1, 1);
  REQUIRE(eventually([&] { return b->seen.frame_count() == 1; }));
  const Endpoint before = b->address();
  b.reset();
  PoolPeer again(started(1, 3, 1, 22));
  REQUIRE(again.address() != before);
  start_late(again, {all[0], all[2]});
  // c has never had a connection with it, and dials the new address by itself once it has heard.
  REQUIRE(eventually([&] { return again.transport.meter().dials == 2; }));
  std::uint64_t seq = 10;
  for (PoolPeer* peer : {&a, &c}) {
    REQUIRE(eventually([&] {
      peer->ping(1, ++seq);
      return !seqs_from(again.seen.frames(), peer->hello.peer.value).empty();
    }));
  }
}

TEST_CASE("an address of an earlier start does not replace that of a later one") {
  PoolPeer a(started(0, 3, 1, 11));
  const TestSocket later = TestSocket::listen(), earlier = TestSocket::listen();
  start_knowing(a, {{kernels::PeerId(2), 5, later.address()}});
  Hello gossiper = started(1, 3, 1, 12);
  gossiper.book = {{kernels::PeerId(2), 4, earlier.address()}};
  TestSocket socket = dial_as(gossiper, a.address());
  a.ping(2, 1);
  TestSocket dialled = later.accept();
  CHECK(dialled.receive()->kind == gossip::wire::Kind::hello);
}

TEST_CASE("of two processes in one place the first stays and the other is told") {
  PoolPeer a(started(0, 3, 1, 11)), first(started(1, 3, 1, 12)), second(started(1, 3, 1, 99));
  start_knowing(a, {});
  start_late(first, {{kernels::PeerId(0), 1, a.address()}});
  REQUIRE(eventually([&] { return first.transport.meter().wire_bytes_received > 0; }));
  start_late(second, {{kernels::PeerId(0), 1, a.address()}});
  REQUIRE(eventually([&] { return second.transport.displaced().has_value(); }));
  CHECK(*second.transport.displaced() == "the place is taken: there is another p01, says p00");
  CHECK_FALSE(first.transport.displaced());
  a.ping(1, 7);
  REQUIRE(eventually([&] { return first.seen.frame_count() == 1; }));
}

TEST_CASE("a process whose place has a later start learns that it is over") {
  PoolPeer a(started(0, 2, 0, 11)), ghost(started(1, 2, 0, 12)), again(started(1, 2, 1, 13));
  start_knowing(a, {});
  start_late(again, {{kernels::PeerId(0), 0, a.address()}});
  REQUIRE(eventually([&] { return again.transport.meter().wire_bytes_received > 0; }));
  start_late(ghost, {{kernels::PeerId(0), 0, a.address()}});
  REQUIRE(eventually([&] { return ghost.transport.displaced().has_value(); }));
  CHECK(ghost.transport.displaced()->starts_with("an earlier start of p01"));
  CHECK_FALSE(again.transport.displaced());
}

TEST_CASE("port 0 and a wildcard are announced as what others can dial") {
  PoolPeer any(started(0, 2, 1, 11), 0, {"0.0.0.0", 0});
  CHECK(any.transport.announced().port == any.transport.listening().port);
  CHECK(any.transport.announced().port != 0);
  CHECK(any.transport.announced().host != "0.0.0.0");
  PoolPeer other(started(1, 2, 1, 12), 0, {"::", 0});
  start_knowing(any, {});
  start_late(other, {{kernels::PeerId(0), 1, any.transport.announced()}});
  REQUIRE(eventually([&] { return other.transport.meter().wire_bytes_received > 0; }));
  std::uint64_t seq = 0;
  REQUIRE(eventually([&] {
    any.ping(1, ++seq);
    return other.seen.frame_count() > 0;
  }));
}

}  // namespace hearsay::runtime
