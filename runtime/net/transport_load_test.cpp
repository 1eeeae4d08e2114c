// SPDX-License-Identifier: Apache-2.0
// Connections that never become one, in numbers: slots come back, descriptors and memory stay flat.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gossip/limits.hpp"
#include "runtime/net/test_socket.hpp"
#include "runtime/net/test_support.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

using namespace std::chrono_literals;
namespace limits = gossip::limits;
using gossip::FrameKind;

constexpr std::size_t kValues = 1000;

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("half-open connections are bounded, and their slots come back by the deadline") {
  PoolPeer peer(hello_of(0, 3, kValues));
  const Endpoint unused = TestSocket::listen().address();
  peer.start({peer.address(), unused, unused});
  const Bytes hello = hello_message(hello_of(1, 3, kValues));
  const auto begin = std::chrono::steady_clock::now();
  std::vector<TestSocket> half_open;
  for (std::size_t i = 0; i < limits::kHalfOpenConnections; ++i) {
    half_open.push_back(TestSocket::dial(peer.address()));
    half_open.back().send(std::span(hello).first(i % hello.size()));
  }
  for (int i = 0; i < 20; ++i) {  // more of them are not even listened to
    TestSocket one_more = TestSocket::dial(peer.address());
    CHECK(one_more.ends(3s));
  }
  TestSocket early = TestSocket::dial(peer.address());
  early.send(hello);
  CHECK_FALSE(early.receive());
  for (TestSocket& socket : half_open) CHECK(socket.ends());
  const auto waited = std::chrono::steady_clock::now() - begin;
  CHECK(waited >= limits::kHandshakeTimeout - 1s);
  CHECK(eventually([&] { return peer.seen.told("no handshake in time"); }));
  TestSocket late = dial_as(hello_of(1, 3, kValues), peer.address());
  late.send(message_of(frame_of(FrameKind::ping, 1, 0, 1)));
  CHECK(eventually([&] { return peer.seen.frame_count() == 1; }));
}

TEST_CASE("a peer that takes a dial and never welcomes is down by the deadline") {
  const TestSocket listener = TestSocket::listen();
  PoolPeer peer(hello_of(0, 2, kValues));
  peer.start({peer.address(), listener.address()});
  peer.ping(1, 0);
  TestSocket silent = listener.accept();  // takes the hello, never welcomes
  const auto begin = std::chrono::steady_clock::now();
  CHECK(eventually([&] { return peer.seen.down_count() == 1; }));
  CHECK(std::chrono::steady_clock::now() - begin >= limits::kHandshakeTimeout - 1s);
  CHECK(peer.seen.told("p01: no handshake in time"));
  CHECK(silent.ends());
}

TEST_CASE("10,000 connections that fail half-way leave descriptors and memory as they were") {
  PoolPeer peer(hello_of(0, 2, kValues));
  peer.seen.keep_frames(false);
  peer.start({peer.address(), peer.address()});
  const Hello hello = hello_of(1, 2, kValues);
  const Bytes said = hello_message(hello);
  const Bytes frame = message_of(frame_of(FrameKind::push, 1, 0, 1, random_values(kValues, 1)));
  const auto fail = [&](int way) {
    TestSocket socket = way < 4 ? TestSocket::dial(peer.address()) : dial_as(hello, peer.address());
    if (way == 1) socket.send(std::span(said).first(30));
    if (way == 2) socket.send(std::span(said).first(said.size() - 3));
    if (way == 3) socket.send(message_of(gossip::wire::Kind::hello, "nonsense"));
    if (way == 4) socket.send(std::span(frame).first(frame.size() / 2));
    if (way == 5) socket.send(std::span(frame).first(20));
    socket.reset();
  };
  const auto fail_often = [&](int times) {
    for (int i = 0; i < times; ++i) fail(i % 6);
    // The last one is seen off when a whole frame of a new connection has come.
    const std::size_t before = peer.seen.frame_count();
    TestSocket probe = dial_as(hello, peer.address());
    probe.send(frame);
    probe.send(message_of(gossip::wire::Kind::bye, ""));
    REQUIRE(probe.ends());
    REQUIRE(peer.seen.frame_count() == before + 1);
  };
  const int times = kSanitized ? 1000 : 9000;
  fail_often(1000);  // warm-up
  const std::size_t descriptors = open_descriptors(), resident = resident_bytes();
  fail_often(times);
  CHECK(open_descriptors() <= descriptors + 8);
  const std::size_t grown = std::max(resident_bytes(), resident) - resident;
  INFO("resident memory grew by " << grown << " bytes");
  CHECK(grown < (kSanitized ? 64 : 2) * (std::size_t{1} << 20));
  CHECK(peer.transport.meter().refused > 4u * static_cast<unsigned>(times) / 6);
}

}  // namespace hearsay::runtime
