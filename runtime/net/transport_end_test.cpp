// SPDX-License-Identifier: Apache-2.0
// How transports end, are left, and find nobody: drain, goodbyes, deaths, dialling again.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "gossip/limits.hpp"
#include "runtime/net/test_socket.hpp"
#include "runtime/net/test_support.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using gossip::FrameKind;
using kernels::digest;

constexpr std::size_t kValues = 50'000;

Endpoint nobody() { return TestSocket::listen().address(); }  // closed again at once

}  // namespace

TEST_CASE("who drains and exits right after its last send has its frames taken") {
  const auto last = random_values(kValues, 3);
  PoolPeer receiver(hello_of(0, 2, kValues), 8192);
  receiver.start({receiver.address(), nobody()});
  const std::uint64_t rounds = kSanitized ? 20 : 100;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    CAPTURE(round);
    Hello hello = hello_of(1, 2, kValues);
    hello.incarnation = round + 1;
    {
      PoolPeer sender(hello);
      sender.start({receiver.address(), sender.address()});
      if (round % 2 == 0) {  // else the goodbye overtakes the dial
        sender.ping(0, 0);
        REQUIRE(eventually([&] { return sender.transport.meter().frames_sent == 1; }));
      }
      sender.push(0, 1, last);
      sender.push(0, 2, last);
      REQUIRE(sender.transport.drain(kPatience));
    }
    const std::size_t expected = round + 1 + (round % 2 == 0 ? 1 : 0);
    REQUIRE(eventually([&] { return receiver.seen.frames().back().seq == 2; }));
    const auto frames = receiver.seen.frames();
    REQUIRE(frames.size() >= expected);
    REQUIRE(digest(frames.back().values->span()) == digest(last->span()));
  }
  CHECK(receiver.seen.frame_count() == 2 * rounds + rounds / 2);
  CHECK(receiver.seen.downs().empty());
  CHECK(receiver.seen.faults().empty());
}

TEST_CASE("a frame waits for a receiver without room until the sender's drain is over") {
  const auto pool = start_pool(2, kValues, 8192);
  pool[1]->seen.have_room(false);
  for (std::uint64_t i = 0; i < 4; ++i) pool[0]->push(1, i, random_values(kValues, i));
  std::thread later([&] {
    std::this_thread::sleep_for(200ms);
    pool[1]->seen.have_room(true);
  });
  CHECK(pool[0]->transport.drain(kPatience));
  later.join();
  CHECK(seqs_from(pool[1]->seen.frames(), 0) == counted(0, 4));
  CHECK(pool[1]->seen.downs().empty());
}

TEST_CASE("two that drain at once both end cleanly") {
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    const auto pool = start_pool(2, 100);
    for (std::uint64_t i = 0; i < 10; ++i) pool[i % 2]->ping(1 - i % 2, i);
    REQUIRE(eventually(
        [&] { return pool[0]->seen.frame_count() == 5 && pool[1]->seen.frame_count() == 5; }));
    bool other = false;
    std::thread thread([&] { other = pool[1]->transport.drain(kPatience); });
    CHECK(pool[0]->transport.drain(kPatience));
    thread.join();
    CHECK(other);
    // Where both have dialled, one of the two connections may still have been in its handshake.
    for (const auto& peer : pool) {
      for (const std::string& down : peer->seen.downs())
        CHECK(down.find("one of two connections: ") != std::string::npos);
    }
  }
}

TEST_CASE("a drain whose peer never reads is over in time and says so") {
  const TestSocket listener = TestSocket::listen(4096);
  PoolPeer peer(hello_of(0, 2, kValues * 20), 8192);
  peer.start({peer.address(), listener.address()});
  peer.push(1, 0, random_values(kValues * 20, 0));
  TestSocket silent = listener.accept();
  REQUIRE(silent.receive());
  silent.send(message_of(gossip::wire::Kind::welcome, encode_hello(hello_of(1, 2, kValues * 20))));
  REQUIRE(eventually([&] { return peer.transport.meter().wire_bytes_sent > 0; }));
  const auto begin = Clock::now();
  CHECK_FALSE(peer.transport.drain(300ms));
  CHECK(Clock::now() - begin < 5s);
  CHECK(silent.ends(5s));  // nothing stays open
}

TEST_CASE("a drain whose peer breaks off in mid-frame says that something was left unsent") {
  const std::size_t values = 1'000'000;
  PoolPeer peer(hello_of(0, 2, values), 8192);
  peer.start({peer.address(), nobody()});
  TestSocket other = dial_as(hello_of(1, 2, values), peer.address());
  peer.push(1, 0, random_values(values, 0));
  REQUIRE(eventually([&] { return peer.transport.meter().wire_bytes_sent > 0; }));
  std::thread later([&] {
    std::this_thread::sleep_for(100ms);
    other.reset();
  });
  CHECK_FALSE(peer.transport.drain(kPatience));
  later.join();
  const TransportMeter meter = peer.transport.meter();
  CHECK((meter.frames_sent == 0 && meter.frames_dropped == 1));
}

TEST_CASE("a drain that cannot reach its peer says that something was left unsent") {
  PoolPeer peer(hello_of(0, 2, kValues));
  peer.start({peer.address(), nobody()});
  peer.ping(1, 0);
  CHECK_FALSE(peer.transport.drain(kPatience));
  CHECK(peer.transport.meter().frames_dropped == 1);
}

TEST_CASE("a drain with nothing to say is clean at once") {
  PoolPeer peer(hello_of(0, 2, kValues));
  peer.start({peer.address(), nobody()});
  const auto begin = Clock::now();
  CHECK(peer.transport.drain(kPatience));
  CHECK(Clock::now() - begin < 5s);
  CHECK(PoolPeer(hello_of(0, 2, kValues)).transport.drain(kPatience));  // never started
}

TEST_CASE("nobody at the address: the peer is down, and dials get rarer") {
  PoolPeer peer(hello_of(0, 2, kValues));
  PoolPeer late(hello_of(1, 2, kValues));
  const Endpoint empty = nobody();
  peer.start({peer.address(), empty});
  std::uint64_t sent = 0;
  for (const auto begin = Clock::now(); Clock::now() - begin < 1s; ++sent) {
    peer.ping(1, sent);
    std::this_thread::sleep_for(5ms);
  }
  // At 0, 0.1, 0.3 and 0.7 s, each a quarter earlier or later.
  const std::uint64_t dials = peer.transport.meter().dials;
  CHECK((dials >= 2 && dials <= 5));
  REQUIRE(eventually([&] { return peer.transport.meter().frames_dropped == sent; }));
  CHECK(peer.seen.down_count() >= dials);
  CHECK(peer.seen.told("p01: " + empty.text() + ": Connection refused"));
  // Somebody comes to that address.
  PoolPeer there(hello_of(1, 2, kValues), 0, empty);
  there.start({peer.address(), there.address()});
  REQUIRE(eventually([&] {
    peer.ping(1, sent++);
    std::this_thread::sleep_for(5ms);
    return there.seen.frame_count() > 0;
  }));
}

TEST_CASE("connections that break again and again are made again") {
  const auto pool = start_pool(2, 1000);
  std::uint64_t seq = 0;
  for (std::uint64_t round = 2; round < 12; ++round) {
    CAPTURE(round);
    Hello hello = hello_of(1, 2, 1000);
    hello.incarnation = round;
    TestSocket again = dial_as(hello, pool[0]->address());
    again.send(message_of(frame_of(FrameKind::ping, 1, 0, seq)));
    REQUIRE(eventually([&] { return pool[0]->seen.frame_count() == seq + 1; }));
    ++seq;
    again.reset();
    REQUIRE(eventually([&] { return pool[0]->seen.down_count() == seq; }));
  }
  CHECK(seqs_from(pool[0]->seen.frames(), 1) == counted(0, seq));
}

TEST_CASE("a socket that closes or resets between frames is a peer that is down") {
  for (const bool reset : {false, true}) {
    CAPTURE(reset);
    PoolPeer peer(hello_of(0, 3, kValues));
    peer.start({peer.address(), nobody(), nobody()});
    TestSocket other = dial_as(hello_of(1, 3, kValues), peer.address());
    other.send(message_of(frame_of(FrameKind::ping, 1, 0, 1)));
    REQUIRE(eventually([&] { return peer.seen.frame_count() == 1; }));
    reset ? other.reset() : other.close();
    REQUIRE(eventually([&] { return peer.seen.down_count() == 1; }));
    CHECK(peer.seen.downs()[0].starts_with("p01: "));
  }
}

TEST_CASE("a goodbye is no peer that is down") {
  PoolPeer peer(hello_of(0, 3, kValues));
  peer.start({peer.address(), nobody(), nobody()});
  TestSocket other = dial_as(hello_of(1, 3, kValues), peer.address());
  other.send(message_of(frame_of(FrameKind::left, 1, 0, 1)));
  other.send(message_of(gossip::wire::Kind::bye, ""));
  CHECK(other.ends());
  CHECK(peer.seen.frame_count() == 1);
  CHECK(peer.seen.downs().empty());
  CHECK(peer.seen.faults().empty());
}

TEST_CASE("a goodbye is no peer that is down, even while a dial to it is under way") {
  for (const bool welcomes : {false, true}) {  // the dial that comes to nothing
    CAPTURE(welcomes);
    TestSocket listener = TestSocket::listen();
    PoolPeer peer(hello_of(0, 2, kValues));
    peer.start({peer.address(), listener.address()});
    peer.ping(1, 0);
    TestSocket dialled = listener.accept();
    TestSocket other = dial_as(hello_of(1, 2, kValues), peer.address());
    CHECK(other.receive());  // the ping
    other.send(message_of(gossip::wire::Kind::bye, ""));
    CHECK(other.ends());
    const Bytes welcome =
        message_of(gossip::wire::Kind::welcome, encode_hello(hello_of(1, 2, kValues)));
    if (welcomes) dialled.send(welcome);
    CHECK(dialled.receive());  // what is left unread would turn the end into a reset
    dialled.close();
    CHECK_FALSE(eventually([&] { return peer.seen.down_count() > 0; }, 200ms));
    listener.close();
    peer.ping(1, 1);  // but who still wants something from it hears that it is gone
    CHECK(eventually([&] { return peer.seen.down_count() == 1; }));
  }
}

TEST_CASE("a process that is killed in mid-frame is a peer that is down, and the others go on") {
  const std::size_t values = 20 * kValues;  // several pieces: the meter counts whole ones
  PoolPeer peer(hello_of(0, 3, values)), other(hello_of(2, 3, values));
  const Bytes frame = message_of(frame_of(FrameKind::request, 1, 0, 1, random_values(values, 1)));
  const Bytes hello = hello_message(hello_of(1, 3, values));
  const Endpoint address = peer.address();
  const pid_t child = ::fork();  // before any thread of this test
  REQUIRE(child >= 0);
  if (child == 0) {
    TestSocket victim = TestSocket::dial(address);
    victim.send(hello);
    victim.receive();  // what is left unread would turn the end into a reset
    victim.send(std::span(frame).first(frame.size() * 2 / 5));
    for (;;) ::pause();
  }
  peer.start({peer.address(), nobody(), other.address()});
  other.start({peer.address(), nobody(), other.address()});
  const bool begun =
      eventually([&] { return peer.transport.meter().wire_bytes_received > values; });
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  REQUIRE(begun);
  REQUIRE(eventually([&] { return peer.seen.down_count() == 1; }));
  CHECK(peer.seen.told("connection broken: p01: closed in mid-message"));
  other.push(0, 5, random_values(values, 5));
  REQUIRE(eventually([&] { return peer.seen.frame_count() == 1; }));
  CHECK(peer.seen.frames()[0].seq == 5);
}

TEST_CASE("a sender that falls silent in mid-frame is given up, and the others go on", "[slow]") {
  PoolPeer peer(hello_of(0, 3, kValues)), other(hello_of(2, 3, kValues));
  peer.start({peer.address(), nobody(), other.address()});
  other.start({peer.address(), nobody(), other.address()});
  TestSocket silent = dial_as(hello_of(1, 3, kValues), peer.address());
  const Bytes frame = message_of(frame_of(FrameKind::request, 1, 0, 1, random_values(kValues, 1)));
  silent.send(std::span(frame).first(frame.size() / 2));
  const auto begin = Clock::now();
  CHECK(silent.ends());
  CHECK(Clock::now() - begin >= gossip::limits::kNoProgressTimeout - 1s);
  CHECK(eventually([&] { return peer.seen.told("p01: no progress in mid-message"); }));
  other.ping(0, 5);
  REQUIRE(eventually([&] { return peer.seen.frame_count() == 1; }));
}

}  // namespace hearsay::runtime
