// SPDX-License-Identifier: Apache-2.0
// Messages of a codec between transports: they arrive whole; what is too long, or in a pool without
// a codec, ends its connection; peers of different codecs have none.
#include "runtime/net/test_socket.hpp"
#include "runtime/net/test_support.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

using gossip::Frame;
using gossip::FrameKind;

constexpr std::size_t kValues = 1000;
constexpr std::uint64_t kMost = 700'001;

Frame packed_frame(FrameKind kind, std::uint32_t from, std::uint32_t to, std::uint64_t seq,
                   std::size_t bytes) {
  Frame frame = frame_of(kind, from, to, seq);
  frame.packed = random_message(bytes, seq);
  return frame;
}

Hello hello_with_codec(std::uint32_t id) {
  Hello hello = hello_of(id, 2, kValues);
  hello.codec = "test";
  return hello;
}

}  // namespace

TEST_CASE("messages of a codec arrive whole, in order, and are counted") {
  const auto pool = start_pool_with_codec(2, kValues, kMost);
  const std::vector<std::size_t> sizes{1, 3, 4096, kMost};  // the last is several pieces
  std::uint64_t payload = 0, wire = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Frame frame =
        packed_frame(i % 2 == 0 ? FrameKind::request : FrameKind::push, 0, 1, i, sizes[i]);
    frame.votes = {{kernels::PeerId(1), 3}};
    payload += frame.payload_bytes();
    wire += frame.wire_bytes();
    pool[0]->transport.send(std::move(frame));
  }
  // A late joiner gets all values as they are.
  pool[0]->transport.send(frame_of(FrameKind::model, 0, 1, 9, random_values(kValues, 9)));
  REQUIRE(eventually([&] { return pool[1]->seen.frame_count() == sizes.size() + 1; }));
  const std::vector<Frame> frames = pool[1]->seen.frames();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CAPTURE(i);
    REQUIRE(frames[i].packed);
    CHECK_FALSE(frames[i].values);
    CHECK((frames[i].seq == i && frames[i].votes.size() == 1));
    CHECK(frames[i].packed->bytes == random_message(sizes[i], i)->bytes);
  }
  CHECK((frames.back().values && !frames.back().packed));
  const TransportMeter sent = pool[0]->transport.meter(), got = pool[1]->transport.meter();
  CHECK(sent.payload_bytes_sent == payload + 4 * kValues);
  CHECK(got.payload_bytes_received == sent.payload_bytes_sent);
  CHECK(wire == payload + sizes.size() * (Frame::kHeaderBytes + Frame::kVoteBytes));
  CHECK(pool[1]->seen.downs().empty());
}

TEST_CASE("what is no message of the pool's codec ends its connection") {
  struct Case {
    Frame frame;
    const char* said;
  };
  for (const auto& [frame, said] :
       {Case{packed_frame(FrameKind::push, 1, 0, 1, 1001), "1001 bytes where 1 to 1000 belong"},
        Case{frame_of(FrameKind::push, 1, 0, 1, random_values(kValues, 1)),
             "raw weights in a pool"},
        Case{packed_frame(FrameKind::model, 1, 0, 1, 100), "a codec where none belongs"}}) {
    CAPTURE(said);
    PoolPeer target(hello_with_codec(0));
    target.most_packed_bytes = 1000;
    target.start({target.address(), TestSocket::listen().address()});
    TestSocket liar = dial_as(hello_with_codec(1), target.address());
    liar.send(message_of(frame));
    CHECK(liar.ends());
    CHECK(eventually([&] { return target.seen.down_count() == 1; }));
    CHECK(target.seen.told(said));
    CHECK(target.seen.frame_count() == 0);
  }
}

TEST_CASE("a message with a wrong byte is not handed on") {
  PoolPeer target(hello_with_codec(0));
  target.most_packed_bytes = 1000;
  target.start({target.address(), TestSocket::listen().address()});
  Bytes bytes = message_of(packed_frame(FrameKind::push, 1, 0, 1, 100));
  bytes[80] ^= std::byte{1};
  TestSocket liar = dial_as(hello_with_codec(1), target.address());
  liar.send(bytes);
  CHECK(liar.ends());
  CHECK(eventually([&] { return target.seen.told("body checksum is wrong"); }));
  CHECK(target.seen.frame_count() == 0);
}

TEST_CASE("a message of a codec ends the connection in a pool without one") {
  PoolPeer target(hello_of(0, 2, kValues));
  target.start({target.address(), TestSocket::listen().address()});
  TestSocket liar = dial_as(hello_of(1, 2, kValues), target.address());
  liar.send(message_of(packed_frame(FrameKind::push, 1, 0, 1, 100)));
  CHECK(liar.ends());
  CHECK(eventually([&] { return target.seen.told("a message of a codec where none belongs"); }));
  CHECK(target.seen.frame_count() == 0);
}

TEST_CASE("peers of different codecs both name the two") {
  PoolPeer raw(hello_of(0, 2, kValues)), coded(hello_with_codec(1));
  coded.most_packed_bytes = 1000;
  raw.start({raw.address(), coded.address()});
  coded.start({raw.address(), coded.address()});
  raw.ping(1, 0);
  const std::string why = "another codec: raw at p00 and test at p01";
  CHECK(eventually([&] { return raw.seen.told("p01: refused by p01: " + why); }));
  CHECK(eventually([&] { return coded.seen.told(why); }));
  CHECK((raw.seen.frame_count() == 0 && coded.seen.frame_count() == 0));
}

}  // namespace hearsay::runtime
