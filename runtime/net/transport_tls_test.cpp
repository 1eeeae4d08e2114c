// SPDX-License-Identifier: Apache-2.0
// Strangers stay out: peers with one secret, or with certificates of one authority, exchange
// weights as ever; everybody else is refused by name, once, and learns nothing.
#include <algorithm>
#include <array>
#include <thread>

#include "gossip/limits.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/net/test_certificates.hpp"
#include "runtime/net/test_socket.hpp"
#include "runtime/net/test_support.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

using namespace std::chrono_literals;
namespace limits = gossip::limits;
namespace wire = gossip::wire;
using SecurityRef = std::shared_ptr<Security>;

constexpr std::size_t kValues = 10'000;
constexpr const char* kSecret = "a secret of the whole pool";

struct Pair {
  Pair(SecurityRef first, SecurityRef second, std::size_t values = kValues, int buffer = 0)
      : a(hello_of(0, 2, values), buffer, {"127.0.0.1", 0}, std::move(first)),
        b(hello_of(1, 2, values), buffer, {"127.0.0.1", 0}, std::move(second)) {
    a.start({a.address(), b.address()});
    b.start({a.address(), b.address()});
  }
  // `b` dials `a` again and again; neither has a frame, both say why, once a side and reason.
  void stay_apart(const std::string& a_says, const std::string& b_says) {
    CAPTURE(a_says, b_says);
    for (std::uint64_t i = 0; i < 3; ++i) {
      b.push(0, i, random_values(kValues, i));
      REQUIRE(eventually([&] { return b.seen.down_count() > i; }));
      REQUIRE(eventually([&, dials = b.transport.meter().dials] {
        if (b.transport.meter().dials > dials || i == 2) return true;
        b.ping(0, 0);
        std::this_thread::sleep_for(20ms);
        return false;
      }));
    }
    const bool both_say =
        eventually([&] { return a.seen.told(a_says) && b.seen.told(b_says); }, 5s);
    CAPTURE(a.seen.faults(), b.seen.faults());
    CHECK(both_say);
    CHECK(a.seen.faults().size() <= 2);
    CHECK(b.seen.faults().size() <= 2);
    CHECK((a.seen.frame_count() == 0 && b.seen.frame_count() == 0));
    CHECK(a.transport.meter().refused >= 2);
    CHECK(a.transport.meter().wire_bytes_sent == 0);
  }
  PoolPeer a, b;
};

bool arrived(const PoolPeer& at, const merge::SnapshotRef& values) {
  const auto frames = at.seen.frames();
  return !frames.empty() && frames.back().values &&
         kernels::digest(frames.back().values->span()) == kernels::digest(values->span());
}

// Each to the other at once.
void exchange(PoolPeer& a, PoolPeer& b, std::size_t values) {
  const auto from_a = random_values(values, 1), from_b = random_values(values, 2);
  const std::size_t at_a = a.seen.frame_count(), at_b = b.seen.frame_count();
  a.push(1, 7, from_a);
  b.push(0, 7, from_b);
  const bool came =
      eventually([&] { return a.seen.frame_count() > at_a && b.seen.frame_count() > at_b; });
  CAPTURE(a.seen.faults(), b.seen.faults(), a.seen.downs(), b.seen.downs());
  REQUIRE(came);
  CHECK(arrived(a, from_b));
  CHECK(arrived(b, from_a));
}

// The beginning of what a TLS client says.
Bytes client_hello() {
  const TestSocket listener = TestSocket::listen();
  PoolPeer peer(hello_of(0, 2, kValues), 0, {"127.0.0.1", 0}, with_secret(kSecret));
  peer.start({peer.address(), listener.address()});
  peer.ping(1, 0);
  return listener.accept().receive_some(100);
}

}  // namespace

TEST_CASE("peers with one secret or one authority exchange weights, both ways at once, and part") {
  TestAuthority authority;
  const bool by_secret = GENERATE(true, false);
  const SecurityRef one = by_secret ? with_secret(kSecret) : open_quietly(authority.issue("p00"));
  const SecurityRef two = by_secret ? with_secret(kSecret) : open_quietly(authority.issue("p01"));
  Pair pool(one, two);
  for (int i = 0; i < 3; ++i) exchange(pool.a, pool.b, kValues);
  CHECK(pool.a.seen.faults().empty());
  CHECK(pool.b.transport.drain(5s));
  CHECK(eventually([&] { return pool.a.transport.meter().frames_received == 3; }));
  CHECK(pool.a.seen.downs().empty());  // a goodbye is one with TLS too
}

TEST_CASE("100 MB both ways at once get through TLS and socket buffers of 4 KiB") {
  constexpr std::size_t values = kSanitized ? 1'000'000 : 25'000'000;
  Pair pool(with_secret(kSecret), with_secret(kSecret), values, 4096);
  exchange(pool.a, pool.b, values);
  CHECK(pool.a.seen.faults().empty());
}

TEST_CASE("another secret, none, or one where there are certificates: apart, and both say why") {
  TestAuthority authority;
  const char* const wrong = "it does not have this peer's secret; give all peers the same --secret";
  const char* const no_tls = "it does not speak TLS: started without --secret or --tls";
  SECTION("another secret") {
    Pair(with_secret(kSecret), with_secret("another secret!!")).stay_apart(wrong, wrong);
  }
  SECTION("plain to TLS") {
    Pair pool(with_secret(kSecret), nullptr);
    pool.b.ping(0, 0);
    CHECK(eventually([&] { return pool.b.seen.told("TLS is spoken here; give your peer"); }));
    CHECK(eventually([&] { return pool.a.seen.told(no_tls); }));
    CHECK(pool.a.seen.frame_count() == 0);
  }
  SECTION("TLS to plain") {
    Pair pool(nullptr, with_secret(kSecret));
    pool.b.ping(0, 0);
    CHECK(eventually([&] { return pool.b.seen.told(no_tls); }));
    CHECK(eventually([&] { return pool.a.seen.told("it speaks TLS and this peer does not"); }));
    CHECK(pool.a.seen.frame_count() == 0);
  }
  SECTION("a secret where there are certificates") {
    Pair(open_quietly(authority.issue("p00")), with_secret(kSecret))
        .stay_apart("give all peers certificates of one authority",
                    "it has a certificate and not this pool's secret");
  }
  SECTION("a certificate where there is a secret") {
    Pair(with_secret(kSecret), open_quietly(authority.issue("p01")))
        .stay_apart(wrong, "give all peers certificates of one authority");
  }
}

TEST_CASE("certificates that have run out, hold later, or are another authority's are refused") {
  TestAuthority authority, foreign("foreign authority"), namesake;
  const auto good = [&] { return open_quietly(authority.issue("good")); };
  SECTION("the dialler's has expired") {
    Pair(good(), open_quietly(authority.issue("old", -7000, -10)))
        .stay_apart("its certificate has expired", "says that this peer's certificate has expired");
  }
  SECTION("the acceptor's has expired") {
    Pair(open_quietly(authority.issue("old", -7000, -10)), good())
        .stay_apart("says that this peer's certificate has expired", "its certificate has expired");
  }
  SECTION("it holds later") {
    Pair(good(), open_quietly(authority.issue("new", 1000, 2000)))
        .stay_apart("does not hold yet", "does not accept this peer's certificate");
  }
  SECTION("another authority") {
    Pair(good(), open_quietly(foreign.issue("p01")))
        .stay_apart("does not know the authority", "its certificate is of another authority");
  }
  SECTION("another authority of the same name") {
    Pair(good(), open_quietly(namesake.issue("p01"))).stay_apart("does not", "certificate");
  }
  SECTION("another authority, which is not told apart by the dialler") {
    SecurityFiles files = foreign.issue("p01");
    files.authority = authority.folder().file("ca.pem");
    Pair(good(), open_quietly(files))
        .stay_apart("its certificate is of another authority", "does not know the authority");
  }
}

TEST_CASE("a certificate that is revoked in mid-run loses its connections and gets no new ones") {
  TestAuthority authority;
  SecurityFiles first = authority.issue("p00");
  const SecurityFiles second = authority.issue("p01");
  first.revoked = authority.folder().file("revoked");
  write_text(first.revoked, "# nobody yet\n");
  Pair pool(open_quietly(first), open_quietly(second));
  exchange(pool.a, pool.b, kValues);
  CHECK(pool.a.seen.faults().empty());
  write_text(first.revoked, TestAuthority::serial_line(second));
  CHECK(eventually([&] { return pool.a.seen.told("peer revoked: p01: "); }, 4s));
  CHECK(eventually([&] { return pool.b.seen.down_count() > 0; }));
  const std::size_t before = pool.a.seen.frame_count();
  CHECK(eventually([&] {
    pool.b.ping(0, 1);
    std::this_thread::sleep_for(50ms);
    return pool.b.seen.told("it says that this peer's certificate is revoked");
  }));
  CHECK(eventually([&] {
    pool.a.ping(1, 1);
    std::this_thread::sleep_for(50ms);
    return pool.a.seen.told("peer not authenticated: p01: ");
  }));
  CHECK(pool.a.seen.frame_count() == before);
}

TEST_CASE("handshakes that stop half-way are bounded in number and closed by the deadline") {
  PoolPeer peer(hello_of(0, 3, kValues), 0, {"127.0.0.1", 0}, with_secret(kSecret));
  const Endpoint unused = TestSocket::listen().address();
  peer.start({peer.address(), unused, unused});
  const Bytes hello = client_hello();
  REQUIRE(hello.size() == 100);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<TestSocket> half_open;
  for (std::size_t i = 0; i < limits::kHalfOpenConnections; ++i) {
    half_open.push_back(TestSocket::dial(peer.address()));
    half_open.back().send(std::span(hello).first(i % hello.size()));
  }
  TestSocket one_more = TestSocket::dial(peer.address());
  CHECK(one_more.ends(3s));
  for (TestSocket& socket : half_open) {
    CHECK(socket.receive_some(1).empty());  // not a byte for whoever has proved nothing
    CHECK(socket.ends());
  }
  const auto waited = std::chrono::steady_clock::now() - begin;
  CHECK((waited >= limits::kHandshakeTimeout - 1s && waited < limits::kHandshakeTimeout + 10s));
  CHECK(eventually([&] { return peer.seen.told("no handshake in time"); }));
  PoolPeer right(hello_of(1, 3, kValues), 0, {"127.0.0.1", 0}, with_secret(kSecret));
  right.start({peer.address(), right.address(), unused});
  right.ping(0, 1);
  CHECK(eventually([&] { return peer.seen.frame_count() == 1; }));
}

TEST_CASE("a dialler says nothing of itself to whoever cannot prove that it may hear it") {
  const TestSocket listener = TestSocket::listen();
  PoolPeer peer(hello_of(0, 2, kValues), 0, {"127.0.0.1", 0}, with_secret(kSecret));
  peer.start({peer.address(), listener.address()});
  peer.push(1, 0, random_values(kValues, 1));
  TestSocket silent = listener.accept();
  const Bytes said = silent.receive_some(100'000, 1s);
  REQUIRE_FALSE(said.empty());
  CHECK(said.size() < 1000);
  CHECK(said.front() == std::byte{0x16});
  const std::string text(reinterpret_cast<const char*>(said.data()), said.size());
  CHECK(text.find("test-run") == std::string::npos);
  CHECK(text.find("0.weight") == std::string::npos);
  CHECK(eventually([&] { return peer.seen.told("p01: no handshake in time"); }));
  CHECK(silent.ends());
}

TEST_CASE("noise on a port with TLS costs nobody anything and is told once") {
  Pair pool(with_secret(kSecret), with_secret(kSecret));
  kernels::Rng rng = kernels::Rng::stream(1, "tls noise");
  for (int i = 0; i < 200; ++i) {
    Bytes noise(1 + rng.below(3000));
    for (std::byte& byte : noise) byte = static_cast<std::byte>(rng.below(256));
    if (i % 2 == 0) noise[0] = std::byte{0x16};
    if (i % 4 == 0 && noise.size() > 2) noise[1] = std::byte{3};
    TestSocket stranger = TestSocket::dial(pool.a.address());
    stranger.send(noise);
    stranger.close();
  }
  CHECK(eventually([&] { return pool.a.transport.meter().refused == 200; }));
  CHECK(pool.a.seen.faults().size() <= 20);
  exchange(pool.a, pool.b, kValues);
}

TEST_CASE("joining goes through TLS as well, and a wrong secret is no reason to ask again") {
  PoolPeer member(hello_of(0, 2, kValues), 0, {"127.0.0.1", 0}, with_secret(kSecret));
  Hello self = member.hello;
  member.transport.start(std::move(self), member.seen, false, {"{\"seed\":1}", "/runs/x"});
  const auto tick = [] { return true; };
  JoinRequest request;
  request.address = {"127.0.0.1", 9};
  request.nonce = 5;
  JoinClient right(member.address(), tick, with_secret(kSecret));
  REQUIRE(right.fault().empty());
  const auto reply = right.ask(request, tick, [](const std::string&) {});
  CHECK(reply.what == JoinClient::Reply::What::place);
  CHECK(reply.answer.pool.config == "{\"seed\":1}");
  JoinClient wrong(member.address(), tick, with_secret("another secret!!"));
  CHECK(wrong.is_unproven());
  CHECK(wrong.fault().find("it does not have this peer's secret") != std::string::npos);
  JoinClient plain(member.address(), tick);
  REQUIRE(plain.fault().empty());
  const auto refused = plain.ask(request, tick, [](const std::string&) {});
  CHECK(refused.what == JoinClient::Reply::What::refused);
  CHECK(refused.text == "TLS is spoken here; give your peer the pool's --secret or --tls");
}

}  // namespace hearsay::runtime
