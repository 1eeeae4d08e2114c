// SPDX-License-Identifier: Apache-2.0
// Every message of recorded sessions, with each byte wrong and cut at each length, told again to a
// peer that trains: it refuses all of them, and its weights stay what they were, bit for bit.
#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "gossip/frame.hpp"
#include "kernels/core/digest.hpp"
#include "runtime/host/live_testkit.hpp"
#include "runtime/net/test_tap.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using namespace hearsay::runtime::live_testkit;
namespace wire = hearsay::gossip::wire;
using hearsay::gossip::FrameKind;

namespace {

std::uint8_t kind_of(const Bytes& message) {
  const auto decoded = wire::decode_header(std::span(message).first<wire::kHeaderBytes>());
  return std::get<wire::Header>(decoded).kind;
}

// What one side said on a connection: first its half of the handshake, then one frame a kind.
struct Script {
  std::uint32_t speaker = 0;
  bool dials = false;
  Bytes handshake;
  std::map<std::uint8_t, Bytes> frames;
};

Script script_of(const Bytes& stream, bool dials) {
  Script script;
  script.dials = dials;
  for (Bytes& message : split_messages(stream)) {
    const std::uint8_t kind = kind_of(message);
    const auto decoded = wire::decode_header(std::span(message).first<wire::kHeaderBytes>());
    script.speaker = std::get<wire::Header>(decoded).from.value;
    if (script.handshake.empty()) {
      script.handshake = std::move(message);
    } else {
      script.frames.emplace(kind, std::move(message));
    }
  }
  return script;
}

// Two peers train, merge and part, with a tap before each.
std::vector<Script> record(const char* protocol) {
  RunConfig config = config_of(2, protocol);
  config.epochs = 40;
  Pool pool(config);
  std::vector<std::unique_ptr<Tap>> taps;
  std::vector<Endpoint> addresses;
  for (const Endpoint& address : pool.addresses()) {
    taps.push_back(std::make_unique<Tap>(address));
    addresses.push_back(taps.back()->address());
  }
  pool.run(addresses);
  std::vector<Script> scripts;
  for (const auto& tap : taps) {
    for (const Tap::Session& session : tap->sessions()) {
      scripts.push_back(script_of(session.from_dialler, true));
      scripts.push_back(script_of(session.from_listener, false));
    }
  }
  return scripts;
}

// A peer of a pool of two that trains until it is told to stop. Whoever it would merge with is the
// test: it listens where the peer believes the other one, or nobody does.
class Listener {
 public:
  Listener(const char* protocol, std::uint32_t self, const Endpoint& other)
      : pool_(endless(protocol)), peer_(*pool_.peers[self]) {
    before_.assign(peer_.trainer.weights().begin(), peer_.trainer.weights().end());
    peer_.poll = [this](LiveOrders& orders) {
      if (stop_) orders.stop = "end of the test";
    };
    std::vector<Endpoint> addresses(2, other);
    addresses[self] = address();
    thread_ = std::thread([this, addresses] { peer_.run(pool_.config, addresses); });
  }
  Endpoint address() const { return peer_.transport->listening(); }
  ~Listener() { stop(); }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  bool is_untouched() {
    return peer_.sink.merges == 0 &&
           std::ranges::equal(before_, peer_.trainer.weights(), [](float a, float b) {
             return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
           });
  }
  std::uint64_t frames_taken() const { return peer_.transport->meter().frames_received; }

 private:
  static RunConfig endless(const char* protocol) {
    RunConfig config = config_of(2, protocol);
    config.epochs = 100'000'000;
    return config;
  }
  Pool pool_;
  Peer& peer_;
  std::vector<float> before_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// Calls `tell` with the message wrong in one bit, for every byte, and cut short, at every length.
template <typename Tell>
std::size_t for_each_damage(const Bytes& message, Tell tell) {
  for (std::size_t at = 0; at < message.size(); ++at) {
    Bytes flipped = message;
    flipped[at] ^= std::byte(1 << at % 8);
    tell(flipped);
  }
  for (std::size_t length = 1; length < message.size(); ++length)
    tell(Bytes(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(length)));
  return 2 * message.size() - 1;
}

// As the dialler: hello, its answer, and then what is wrong.
std::size_t replay_dialler(const char* protocol, const Script& script) {
  Listener target(protocol, 1 - script.speaker, TestSocket::listen().address());
  std::size_t told = for_each_damage(script.handshake, [&](const Bytes& bytes) {
    TestSocket socket = TestSocket::dial(target.address());
    socket.send(bytes);
    socket.finish_sending();
    CHECK(socket.ends());
  });
  for (const auto& [kind, message] : script.frames) {
    told += for_each_damage(message, [&](const Bytes& bytes) {
      TestSocket socket = TestSocket::dial(target.address());
      socket.send(script.handshake);
      const auto welcome = socket.receive();
      REQUIRE((welcome && welcome->kind == wire::Kind::welcome));
      socket.send(bytes);
      socket.finish_sending();
      CHECK(socket.ends());
    });
  }
  target.stop();
  CHECK(target.frames_taken() == 0);
  CHECK(target.is_untouched());
  return told;
}

// As the listener, to a peer that dials because it has something to send; of it only what comes
// in answer to its hello is judged here, as every connection begins with that.
std::size_t replay_listener(const Script& script, std::size_t stride) {
  std::size_t told = 0;
  for_each_damage(script.handshake, [&](const Bytes& bytes) {
    if (told++ % stride != 0) return;
    const TestSocket listener = TestSocket::listen();
    Listener target("push", 1 - script.speaker, listener.address());
    TestSocket socket = listener.accept();
    REQUIRE(socket.receive());
    socket.send(bytes);
    socket.finish_sending();
    CHECK(socket.ends());
    target.stop();
    CHECK(target.frames_taken() == 0);
    CHECK(target.is_untouched());
  });
  return told / stride;
}

}  // namespace

TEST_CASE("the same weights, undamaged, are taken and merged") {
  bool has_told = false;
  for (const Script& script : record("push")) {
    const auto push = script.frames.find(static_cast<std::uint8_t>(FrameKind::push));
    if (!script.dials || push == script.frames.end()) continue;
    Listener target("push", 1 - script.speaker, TestSocket::listen().address());
    TestSocket socket = TestSocket::dial(target.address());
    socket.send(script.handshake);
    REQUIRE(socket.receive());
    socket.send(push->second);
    socket.finish_sending();
    CHECK(socket.ends());
    std::this_thread::sleep_for(100ms);  // many mini-batches
    target.stop();
    CHECK(target.frames_taken() == 1);
    CHECK_FALSE(target.is_untouched());
    has_told = true;
  }
  CHECK(has_told);
}

TEST_CASE("every message of a recorded session, damaged anywhere, leaves the weights alone") {
  const auto* protocol = GENERATE("pairwise", "push", "push-sum", "ddp");
  CAPTURE(protocol);
  std::size_t told = 0, kinds = 0;
  for (const Script& script : record(protocol)) {
    if (script.handshake.empty()) continue;
    kinds += script.frames.size();
    if (script.dials) {
      REQUIRE(kind_of(script.handshake) == static_cast<std::uint8_t>(wire::Kind::hello));
      // Without its partner a peer of an all-reduce ends: its chunks are told to another kind.
      told += replay_dialler(std::string_view(protocol) == "ddp" ? "push" : protocol, script);
    } else {
      told += replay_listener(script, 16);
    }
  }
  CAPTURE(told, kinds);
  CHECK(kinds >= 4);
  CHECK(told > 1000);
}
