// SPDX-License-Identifier: Apache-2.0
// Many dials at the same instant: whoever wins, every frame arrives once and in order.
#include <algorithm>
#include <chrono>
#include <thread>

#include "gossip/limits.hpp"
#include "runtime/net/test_socket.hpp"
#include "runtime/net/test_support.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

using gossip::FrameKind;

}  // namespace

TEST_CASE("two that dial each other at the same instant lose nothing, 1,000 times") {
  const int rounds = kSanitized ? 100 : 1000;
  int both_dialled = 0;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const auto pool = start_pool(2, 16);
    const auto values = random_values(16, 1);
    for (std::uint64_t seq = 0; seq < 4; ++seq) {
      pool[0]->push(1, seq, values);
      pool[1]->push(0, seq, values);
    }
    // More while the second connection may just be opening.
    for (std::uint64_t seq = 4; seq < 16; ++seq) {
      REQUIRE(eventually([&] {
        return pool[0]->seen.frame_count() >= seq - 3 && pool[1]->seen.frame_count() >= seq - 3;
      }));
      pool[0]->ping(1, seq);
      pool[1]->ping(0, seq);
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      REQUIRE(eventually([&] { return pool[i]->seen.frame_count() >= 16; }));
      REQUIRE(seqs_from(pool[i]->seen.frames(), 1 - i) == counted(0, 16));
      REQUIRE(pool[i]->seen.downs().empty());
      REQUIRE(pool[i]->seen.faults().empty());
    }
    if (pool[0]->transport.meter().dials + pool[1]->transport.meter().dials == 2) ++both_dialled;
  }
  CHECK(both_dialled > rounds / 20);  // or the test tests nothing
}

TEST_CASE("two that lose each other again and again go on, in order and without doubles") {
  const auto pool = start_pool(2, 16);
  std::uint64_t seq = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const std::size_t before[2] = {pool[0]->seen.frame_count(), pool[1]->seen.frame_count()};
    REQUIRE(eventually([&] {
      for (std::uint32_t i = 0; i < 2; ++i) pool[i]->ping(1 - i, seq);
      ++seq;
      std::this_thread::sleep_for(std::chrono::microseconds(500));
      return pool[0]->seen.frame_count() > before[0] && pool[1]->seen.frame_count() > before[1];
    }));
    // A frame that names the wrong sender ends the connection that it comes on.
    for (std::uint32_t i = 0; i < 2; ++i)
      pool[i]->transport.send(frame_of(FrameKind::ping, 1 - i, 1 - i, 0));
  }
  CHECK(pool[0]->transport.meter().dials + pool[1]->transport.meter().dials > 100);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const auto seqs = seqs_from(pool[i]->seen.frames(), 1 - i);
    CHECK(std::is_sorted(seqs.begin(), seqs.end()));
    CHECK(std::adjacent_find(seqs.begin(), seqs.end()) == seqs.end());
  }
}

TEST_CASE("three in a ring dial at the same instant and all have their frames") {
  const int rounds = kSanitized ? 30 : 300;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const auto pool = start_pool(3, 1000);
    const auto values = random_values(1000, 1);
    for (std::uint32_t i = 0; i < 3; ++i) pool[i]->push((i + 1) % 3, 0, values);
    for (std::uint64_t seq = 1; seq < 5; ++seq) {
      for (std::uint32_t i = 0; i < 3; ++i) {
        pool[i]->ping((i + 1) % 3, seq);
        pool[i]->ping((i + 2) % 3, seq);
      }
    }
    for (std::uint32_t i = 0; i < 3; ++i) {
      REQUIRE(eventually([&] { return pool[i]->seen.frame_count() >= 9; }));
      const auto frames = pool[i]->seen.frames();
      REQUIRE(seqs_from(frames, (i + 2) % 3) == counted(0, 5));
      REQUIRE(seqs_from(frames, (i + 1) % 3) == counted(1, 4));
      REQUIRE(pool[i]->seen.downs().empty());
    }
  }
}

TEST_CASE("frames that come before the other side has started are not lost") {
  PoolPeer early(hello_of(0, 2, 1000)), late(hello_of(1, 2, 1000));
  early.start({early.address(), late.address()});
  for (std::uint64_t seq = 0; seq < 10; ++seq) early.push(1, seq, random_values(1000, seq));
  REQUIRE(eventually([&] { return early.transport.meter().dials == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(early.transport.meter().frames_sent == 0);
  late.start({early.address(), late.address()});
  REQUIRE(eventually([&] { return late.seen.frame_count() == 10; }));
  CHECK(seqs_from(late.seen.frames(), 0) == counted(0, 10));
  CHECK(early.seen.downs().empty());
}

TEST_CASE("a peer that dials again has one connection, the last one") {
  PoolPeer peer(hello_of(0, 2, 1000));
  peer.start({peer.address(), peer.address()});
  std::vector<TestSocket> sockets;
  for (std::uint64_t i = 0; i < 8; ++i) {
    sockets.push_back(dial_as(hello_of(1, 2, 1000), peer.address()));
    sockets.back().send(message_of(frame_of(FrameKind::ping, 1, 0, i)));
    REQUIRE(eventually([&] { return peer.seen.frame_count() == i + 1; }));
  }
  for (std::size_t i = 0; i + 1 < sockets.size(); ++i)
    CHECK(sockets[i].ends(std::chrono::seconds(5)));
  CHECK_FALSE(sockets.back().ends(std::chrono::milliseconds(100)));
  CHECK(peer.seen.downs().empty());
}

TEST_CASE("a peer that starts again replaces itself, and its earlier start is refused") {
  PoolPeer peer(hello_of(0, 2, 1000));
  peer.start({peer.address(), peer.address()});
  TestSocket first = dial_as(hello_of(1, 2, 1000), peer.address());
  Hello again = hello_of(1, 2, 1000);
  again.incarnation = 2;
  TestSocket second = dial_as(again, peer.address());
  CHECK(first.ends(std::chrono::seconds(5)));
  TestSocket ghost = TestSocket::dial(peer.address());
  ghost.send(hello_message(hello_of(1, 2, 1000)));
  const auto answer = ghost.receive();
  REQUIRE(answer);
  CHECK(answer->kind == gossip::wire::Kind::refused);
  CHECK(answer->text == "an earlier start of p01");
  peer.ping(1, 3);
  const auto frame = second.receive();
  REQUIRE(frame);
  CHECK(static_cast<FrameKind>(frame->kind) == FrameKind::ping);
}

TEST_CASE("own dials that hang leave room for those who dial in") {
  const TestSocket silent = TestSocket::listen();  // the system connects, nobody welcomes
  const auto peers = static_cast<std::uint32_t>(gossip::limits::kHalfOpenConnections + 10);
  PoolPeer peer(hello_of(0, peers, 10));
  peer.start(std::vector<Endpoint>(peers, silent.address()));
  for (std::uint32_t other = 2; other < peers; ++other) peer.ping(other, 0);
  REQUIRE(eventually([&] { return peer.transport.meter().dials == peers - 2; }));
  TestSocket caller = TestSocket::dial(peer.address());
  caller.send(hello_message(hello_of(1, peers, 10)));
  const auto answer = caller.receive();
  REQUIRE(answer);
  CHECK(answer->kind == gossip::wire::Kind::welcome);
}

}  // namespace hearsay::runtime
