// SPDX-License-Identifier: Apache-2.0
// Whoever is on the other end of a socket: strangers, liars, noise. Each is refused with a reason,
// loses its own connection, and costs the others nothing.
#include <algorithm>
#include <array>
#include <functional>

#include "gossip/limits.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/net/test_socket.hpp"
#include "runtime/net/test_support.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

namespace wire = gossip::wire;
using gossip::Frame;
using gossip::FrameKind;

constexpr std::size_t kValues = 1000;

// Peer 0 is under attack in the name of peer 1; peer 2 is a survivor.
struct Scene {
  PoolPeer target{hello_of(0, 3, kValues)}, survivor{hello_of(2, 3, kValues)};
  std::uint64_t rounds = 0;

  Scene() {
    const Endpoint unused = TestSocket::listen().address();
    target.start({target.address(), unused, survivor.address()});
    survivor.start({target.address(), unused, survivor.address()});
  }
  TestSocket attack() const { return dial_as(hello_of(1, 3, kValues), target.address()); }
  // True when the survivor's weights still arrive whole.
  bool goes_on() {
    const auto values = random_values(kValues, ++rounds);
    survivor.push(0, rounds, values);
    if (!eventually([&] { return target.seen.frame_count() >= rounds; })) return false;
    const Frame last = target.seen.frames().back();
    return target.seen.frame_count() == rounds && last.from.value == 2 && last.seq == rounds &&
           kernels::digest(last.values->span()) == kernels::digest(values->span());
  }
};

Frame request() { return frame_of(FrameKind::request, 1, 0, 1, random_values(kValues, 1)); }

// The message of a request whose header was changed, with checksums that are right.
Bytes with_header(const std::function<void(wire::Header&)>& change) {
  const Frame frame = request();
  wire::Header header = wire::header_of(frame);
  change(header);
  return message_of(header, {}, std::as_bytes(frame.values->span()));
}

Bytes flipped(Bytes bytes, std::size_t at) {
  bytes[at] ^= std::byte{0x10};
  return bytes;
}

Bytes with_votes(std::size_t count, std::uint32_t peer) {
  Frame frame = request();
  for (std::size_t i = 0; i < count; ++i) frame.votes.push_back({kernels::PeerId(peer), 1});
  return message_of(frame);
}

Bytes noise(std::uint64_t seed, std::uint32_t most) {
  kernels::Rng rng = kernels::Rng::stream(seed, "transport noise");
  Bytes bytes(1 + rng.below(most));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(256));
  // Some of it looks right for a while.
  constexpr std::array start{std::byte{'h'}, std::byte{'s'}, std::byte{wire::kVersion}};
  if (rng.below(2) == 0 && bytes.size() > start.size())
    std::copy(start.begin(), start.end(), bytes.begin());
  return bytes;
}

}  // namespace

TEST_CASE("a frame that breaks a rule ends its connection, is named, and nothing else happens") {
  struct Misdeed {
    Bytes bytes;
    std::string said;
  };
  const std::size_t whole = message_of(request()).size();
  const std::vector<Misdeed> misdeeds{
      {with_header([](auto& h) { h.payload_bytes += 4; }), "a payload of 4004 bytes where 4000"},
      {with_header([](auto& h) { h.payload_bytes = 1ull << 63; }), "of 9223372036854775808 bytes"},
      {with_header([](auto& h) { h.payload_bytes = 0; }), "a payload of 0 bytes where 4000 belong"},
      {flipped(message_of(request()), 20), "header checksum is wrong"},
      {flipped(message_of(request()), 57), "header checksum is wrong"},
      {flipped(message_of(request()), 500), "body checksum is wrong"},
      {flipped(message_of(request()), whole - 1), "body checksum is wrong"},
      {with_header([](auto& h) { h.version = 1; }),
       "wire version 1, this program speaks " + std::to_string(wire::kVersion)},
      {flipped(message_of(request()), 0), "not a hearsay message"},
      {with_header([](auto& h) { h.from = kernels::PeerId(2); }), "in the name of p02 from p01"},
      {with_header([](auto& h) { h.to = kernels::PeerId(2); }), "a frame for p02"},
      {with_header([](auto& h) { h.kind = 31; }), "unknown kind of frame 31"},
      {with_header([](auto& h) { h.weight = -1.0; }), "a weight that is no share"},
      {with_votes(gossip::limits::vote_entries(3) + 1, 2), "65 votes in one frame"},
      {with_votes(1, 3), "a vote, pulse or sketch of a peer that does not exist"},
      {hello_message(hello_of(1, 3, kValues)), "unknown kind of frame 32"},
  };
  Scene scene;
  std::size_t downs = 0;
  for (const auto& [bytes, said] : misdeeds) {
    CAPTURE(said);
    TestSocket liar = scene.attack();
    liar.send(bytes);
    CHECK(liar.ends());
    CHECK(eventually([&] { return scene.target.seen.down_count() == downs + 1; }));
    ++downs;
    CHECK(scene.target.seen.faults().size() == downs);
    CHECK(scene.target.seen.faults().back().find(said) != std::string::npos);
    CHECK(scene.target.seen.faults().back().starts_with("connection broken: p01: "));
    CHECK(scene.goes_on());
  }
}

TEST_CASE("a peer that closes anywhere is let go, and the others go on") {
  Scene scene;
  const Bytes hello = hello_message(hello_of(1, 3, kValues));
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{1}, wire::kHeaderBytes, hello.size() / 2, hello.size() - 1}) {
    CAPTURE(at);
    const std::uint64_t refused = scene.target.transport.meter().refused;
    TestSocket half = TestSocket::dial(scene.target.address());
    half.send(std::span(hello).first(at));
    half.close();
    CHECK(eventually([&] { return scene.target.transport.meter().refused == refused + 1; }));
  }
  CHECK(scene.goes_on());
  CHECK(scene.target.seen.downs().empty());
  const Bytes frame = with_votes(3, 2);
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, wire::kHeaderBytes,
                               wire::kHeaderBytes + 5, frame.size() / 2, frame.size() - 1}) {
    CAPTURE(at);
    const std::size_t downs = scene.target.seen.down_count();
    TestSocket half = scene.attack();
    half.send(std::span(frame).first(at));
    half.close();
    CHECK(eventually([&] { return scene.target.seen.down_count() == downs + 1; }));
    CHECK(scene.target.seen.downs().back() ==
          (at == 0 ? "p01: connection closed" : "p01: closed in mid-message"));
    CHECK(scene.goes_on());
  }
}

TEST_CASE("strangers are refused with a reason that both sides have") {
  Scene scene;
  const auto other = [](auto change) {
    Hello hello = hello_of(1, 3, kValues);
    change(hello);
    return hello_message(hello);
  };
  struct Case {
    Bytes bytes;
    const char* why;
  };
  for (const auto& [bytes, why] : {
           Case{other([](Hello& h) { h.run = "another"; }), "another run: another, this is test-"},
           Case{hello_message(hello_of(1, 4, kValues)), "a pool of 4 peers, this one has 3"},
           Case{hello_message(hello_of(0, 3, kValues)), "the name p00 is taken"},
           Case{hello_message(hello_of(1, 3, 999)),
                "another model: tensor 0 is 0.weight [999] at p01 and 0.weight [1000] at p00"},
           Case{message_of(wire::Kind::hello, "{\"run\": 1}"), "a hello that cannot be read"},
       }) {
    CAPTURE(why);
    TestSocket stranger = TestSocket::dial(scene.target.address());
    stranger.send(bytes);
    const auto answer = stranger.receive();
    REQUIRE(answer);
    CHECK(answer->kind == wire::Kind::refused);
    CHECK(answer->text.find(why) != std::string::npos);
    CHECK(stranger.ends());
    CHECK(eventually([&] { return scene.target.seen.told(why); }));
  }
  CHECK(scene.target.transport.meter().refused == 5);
  CHECK(scene.target.seen.downs().empty());
  CHECK(scene.goes_on());
}

TEST_CASE("what is no hello is not answered") {
  Scene scene;
  wire::Header huge;
  huge.kind = static_cast<std::uint8_t>(wire::Kind::hello);
  huge.payload_bytes = gossip::limits::kHandshakeBytes + 1;
  const Bytes too_long = message_of(huge);
  huge.payload_bytes = 1ull << 63;
  const Bytes overflowing = message_of(huge);
  struct Case {
    Bytes bytes;
    const char* why;
  };
  for (const auto& [bytes, why] : {
           Case{message_of(request()), "no hello"},
           Case{message_of(wire::Kind::welcome, "{}"), "no hello"},
           Case{too_long, "a handshake of 1048577 bytes"},
           Case{overflowing, "a handshake of 9223372036854775808 bytes"},
           Case{flipped(hello_message(hello_of(1, 3, kValues)), 70), "body checksum is wrong"},
       }) {
    CAPTURE(why);
    TestSocket stranger = TestSocket::dial(scene.target.address());
    stranger.send(bytes);
    CHECK_FALSE(stranger.receive());
    CHECK(eventually([&] { return scene.target.seen.told(why); }));
  }
  CHECK(scene.target.transport.meter().refused == 5);
  CHECK(scene.goes_on());
}

TEST_CASE("whoever speaks another version, or asks for what is not given, is told") {
  Scene scene;
  wire::Header other;
  other.kind = static_cast<std::uint8_t>(wire::Kind::hello);
  other.version = wire::kVersion + 1;
  JoinRequest join;
  join.address = scene.survivor.address();
  for (const auto& [bytes, why] :
       {std::pair{message_of(other), std::string("wire version ") + std::to_string(other.version) +
                                         ", this program speaks " + std::to_string(wire::kVersion)},
        std::pair{message_of(wire::Kind::join, "{}"), std::string("a request that cannot be read")},
        std::pair{message_of(wire::Kind::join, encode_join(join)),
                  std::string("this pool's places are filled by its launcher")}}) {
    TestSocket stranger = TestSocket::dial(scene.target.address());
    stranger.send(bytes);
    const auto answer = stranger.receive();
    REQUIRE(answer);
    CHECK(answer->kind == wire::Kind::refused);
    CHECK(answer->text.starts_with(why));
    CHECK(stranger.ends());
    CHECK(eventually([&, told = why] { return scene.target.seen.told(told); }));
  }
  CHECK(scene.goes_on());
}

TEST_CASE("two transports with different models both name the first tensor that differs") {
  PoolPeer wide(hello_of(0, 2, 1000)), narrow(hello_of(1, 2, 500));
  wide.start({wide.address(), narrow.address()});
  narrow.start({wide.address(), narrow.address()});
  wide.ping(1, 0);
  const std::string why =
      "another model: tensor 0 is 0.weight [1000] at p00 and 0.weight [500] at p01";
  CHECK(eventually([&] { return wide.seen.told("p01: refused by p01: " + why); }));
  CHECK(eventually([&] { return narrow.seen.told(why); }));
  CHECK((wide.seen.frame_count() == 0 && narrow.seen.frame_count() == 0));
}

TEST_CASE("whoever answers a dial wrongly is not taken for the peer") {
  wire::Header huge;
  huge.kind = static_cast<std::uint8_t>(wire::Kind::welcome);
  huge.payload_bytes = 1ull << 40;
  const auto welcome = [](const Hello& hello) {
    return message_of(wire::Kind::welcome, encode_hello(hello));
  };
  struct Case {
    Bytes answer;
    const char* why;
  };
  for (const auto& [answer, why] : {
           Case{{}, "connection closed"},
           Case{Bytes(30, std::byte{7}), "closed in mid-message"},
           Case{Bytes(200, std::byte{7}), "not a hearsay message"},
           Case{message_of(huge), "a handshake of 1099511627776 bytes"},
           Case{message_of(wire::Kind::refused, "not today"), "refused by p01: not today"},
           Case{message_of(wire::Kind::welcome, "{}"), "no welcome from 127.0.0.1:"},
           Case{welcome(hello_of(2, 3, kValues)), " is p02"},
           Case{welcome(hello_of(1, 3, 7)), "another model: tensor 0 is 0.weight [7] at p01"},
           Case{hello_message(hello_of(1, 3, kValues)), "no welcome from 127.0.0.1:"},
       }) {
    CAPTURE(why);
    const TestSocket listener = TestSocket::listen();
    PoolPeer peer(hello_of(0, 3, kValues));
    peer.start({peer.address(), listener.address(), listener.address()});
    peer.ping(1, 0);
    TestSocket wrong = listener.accept();
    CHECK(wrong.receive());
    wrong.send(answer);
    wrong.close();
    CHECK(eventually([&] { return peer.seen.down_count() == 1; }));
    CHECK(peer.seen.told(why));
    CHECK(peer.transport.meter().frames_dropped == 1);
  }
}

TEST_CASE("random bytes on the port cost nobody anything") {
  Scene scene;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    TestSocket stranger = TestSocket::dial(scene.target.address());
    stranger.send(noise(seed, seed % 4 == 0 ? 100'000 : 400));
    stranger.close();
  }
  CHECK(eventually([&] { return scene.target.transport.meter().refused == 400; }));
  CHECK(scene.target.seen.downs().empty());
  CHECK(scene.target.seen.faults().size() <= 20);  // a port scan does not fill the log
  CHECK(scene.goes_on());
}

TEST_CASE("a hello that is followed by random bytes costs that connection only") {
  Scene scene;
  for (std::uint64_t seed = 1000; seed < 1200; ++seed) {
    CAPTURE(seed);
    TestSocket liar = scene.attack();
    liar.send(noise(seed, 5000));
    liar.close();
    REQUIRE(eventually([&] { return scene.target.seen.down_count() == seed - 999; }));
  }
  CHECK(scene.goes_on());
}

}  // namespace hearsay::runtime
