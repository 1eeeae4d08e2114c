// SPDX-License-Identifier: Apache-2.0
// Weights that do not go through the socket: who can take from whom, what is lent and for how long,
// and what happens where the way is closed. Places are in this process's memory here; GPUs' are
// tried by runtime/device.
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "runtime/net/handover.hpp"
#include "runtime/net/test_socket.hpp"
#include "runtime/net/test_support.hpp"
#include "runtime/net/transport.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

namespace wire = gossip::wire;
using gossip::Frame;
using gossip::FrameKind;
using kernels::digest;

constexpr std::size_t kValues = 1000;
constexpr std::size_t kFrameBytes = Frame::kHeaderBytes + kValues * sizeof(float);
constexpr std::size_t kTicketFrameBytes = Frame::kHeaderBytes + wire::kTicketBytes;

// What a host has in common: places by number, each as long as its snapshot.
class Host {
 public:
  std::uint64_t place(const merge::SnapshotRef& weights) {
    const std::lock_guard lock(mutex_);
    places_[++last_] = weights;
    return last_;
  }
  merge::SnapshotRef find(std::uint64_t place) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(place);
    return found == places_.end() ? nullptr : found->second.lock();
  }
  bool is_kept(std::uint64_t place) { return find(place) != nullptr; }
  std::uint64_t places() {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<const merge::Snapshot>> places_;
  std::uint64_t last_ = 0;
};

class MemorySource final : public HandoverSource {
 public:
  MemorySource(Host& host, const std::atomic<bool>& is_gone) : host_(host), is_gone_(is_gone) {}
  merge::SnapshotRef take(const HandoverTicket& ticket, std::string& why) override {
    std::uint64_t place = 0;
    std::memcpy(&place, ticket.data(), sizeof place);
    const merge::SnapshotRef there = host_.find(place);
    if (!there || is_gone_) {
      why = "not there any more";
      return nullptr;
    }
    const auto own = blank_values(there->size());
    std::copy(there->span().begin(), there->span().end(), own->values.data());
    return own;
  }

 private:
  Host& host_;
  const std::atomic<bool>& is_gone_;
};

class MemoryHandover final : public Handover {
 public:
  MemoryHandover(Host& host, std::string name) : host_(host), name_(std::move(name)) {}
  const std::string& offer() const override { return name_; }
  std::unique_ptr<HandoverSource> open(const std::string& offer) override {
    ++asked;
    const bool is_near = offer.substr(0, offer.find(' ')) == name_.substr(0, name_.find(' '));
    if (!is_near || is_closed) return nullptr;
    return std::make_unique<MemorySource>(host_, is_gone);
  }
  std::optional<HandoverTicket> ticket(const merge::Snapshot& weights) override {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(&weights);
    if (found == kept_.end()) return std::nullopt;  // is not where others can take it
    const std::uint64_t place = host_.place(found->second.lock());
    HandoverTicket ticket{};
    std::memcpy(ticket.data(), &place, sizeof place);
    return ticket;
  }

  void keep(const merge::SnapshotRef& weights) {
    const std::lock_guard lock(mutex_);
    kept_[weights.get()] = weights;
  }

  std::atomic<bool> is_closed{false};  // the way to everybody else
  std::atomic<bool> is_gone{false};    // whatever it wants to take
  std::atomic<int> asked{0};

 private:
  std::mutex mutex_;
  std::map<const merge::Snapshot*, std::weak_ptr<const merge::Snapshot>> kept_;
  Host& host_;
  std::string name_;
};

struct Pair {
  Pair(const std::string& first, const std::string& second) {
    const std::string names[]{first, second};
    std::vector<Endpoint> addresses;
    for (std::uint32_t i = 0; i < 2; ++i) {
      peers.push_back(std::make_unique<PoolPeer>(hello_of(i, 2, kValues)));
      ways.push_back(std::make_shared<MemoryHandover>(host, names[i]));
      if (!names[i].empty()) peers[i]->transport.hand_over_by(ways[i]);
      addresses.push_back(peers[i]->address());
    }
    all = addresses;
  }
  void start() {
    for (const auto& peer : peers) peer->start(all);
  }
  // Weights that `from` has where others can take them.
  merge::SnapshotRef weights(std::uint32_t from, std::uint64_t seed) {
    auto made = random_values(kValues, seed);
    ways[from]->keep(made);
    return made;
  }
  // Opens the connection, and lets it become known who can take what.
  void meet() {
    for (std::uint32_t i = 0; i < 2; ++i) peers[i]->ping(1 - i, 0);
    REQUIRE(eventually(
        [&] { return peers[0]->seen.frame_count() == 1 && peers[1]->seen.frame_count() == 1; }));
    peers[0]->ping(1, 1);  // behind what was said at the start
    peers[1]->ping(0, 1);
    REQUIRE(eventually(
        [&] { return peers[0]->seen.frame_count() == 2 && peers[1]->seen.frame_count() == 2; }));
  }
  TransportMeter meter(std::size_t i) const { return peers[i]->transport.meter(); }

  Host host;
  std::vector<std::shared_ptr<MemoryHandover>> ways;
  std::vector<Endpoint> all;
  std::vector<std::unique_ptr<PoolPeer>> peers;
};

Bytes frame_with_ticket(std::uint64_t place) {
  Frame frame = frame_of(FrameKind::request, 1, 0, 5, random_values(kValues, 1));
  wire::Header header = wire::header_of(frame);
  header.handed_over = true;
  HandoverTicket ticket{};
  std::memcpy(ticket.data(), &place, sizeof place);
  return message_of(header, {}, ticket);
}

wire::Header header_in(const Bytes& bytes) {
  wire::HeaderBytes head;
  REQUIRE(bytes.size() >= head.size());
  std::copy_n(bytes.begin(), head.size(), head.begin());
  const auto decoded = wire::decode_header(head);
  REQUIRE(std::holds_alternative<wire::Header>(decoded));
  return std::get<wire::Header>(decoded);
}

}  // namespace

TEST_CASE("weights on one host arrive as they were, in order, without going through the socket") {
  Pair pair("here a", "here b");
  pair.start();
  pair.meet();
  std::vector<merge::SnapshotRef> sent;
  for (std::uint64_t i = 0; i < 3; ++i) {
    sent.push_back(pair.weights(0, i));
    Frame frame = frame_of(FrameKind::request, 0, 1, i, sent.back());
    frame.votes.push_back({kernels::PeerId(1), 7});
    frame.samples = 100 + i;
    pair.peers[0]->transport.send(frame);
    pair.peers[0]->ping(1, 50 + i);
  }
  REQUIRE(eventually([&] { return pair.peers[1]->seen.frame_count() == 8; }));
  const std::vector<Frame> frames = pair.peers[1]->seen.frames();
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Frame& frame = frames[2 + 2 * i];
    REQUIRE(frame.values);
    CHECK(digest(frame.values->span()) == digest(sent[i]->span()));
    CHECK((frame.seq == i && frame.samples == 100 + i && frame.votes.size() == 1));
    CHECK(frames[3 + 2 * i].seq == 50 + i);
  }
  CHECK(pair.meter(0).frames_handed_over == 3);
  CHECK(pair.meter(1).frames_taken == 3);
  CHECK(pair.meter(0).payload_bytes_sent == 3 * kValues * sizeof(float));
  CHECK(pair.meter(1).payload_bytes_received == 3 * kValues * sizeof(float));
  // What is counted is what the frames would have been as bytes.
  CHECK(pair.meter(1).wire_bytes_received >= 3 * kFrameBytes);
  CHECK(pair.peers[1]->seen.faults().empty());
}

TEST_CASE("what was lent is kept until it is taken, and no longer") {
  Pair pair("here a", "here b");
  pair.start();
  pair.meet();
  auto weights = pair.weights(0, 1);
  const std::weak_ptr<const merge::Snapshot> watch = weights;
  pair.peers[0]->push(1, 1, std::move(weights));
  REQUIRE(eventually([&] { return pair.peers[1]->seen.frame_count() == 3; }));
  CHECK(eventually([&] { return watch.expired(); }));
  CHECK(pair.meter(0).frames_handed_over == 1);
}

TEST_CASE("bytes go where hosts differ, where only one side can, and where the way is closed") {
  struct Case {
    std::string first, second;
    bool first_is_closed;
    std::uint64_t from_first, from_second;  // of two frames each, how many are handed over
  };
  const std::vector<Case> cases{{"here a", "there b", false, 0, 0},
                                {"here a", "", false, 0, 0},
                                {"", "here b", false, 0, 0},
                                {"here a", "here b", true, 2, 0},
                                {"here a", "here b", false, 2, 2}};
  for (const Case& each : cases) {
    CAPTURE(each.first, each.second, each.first_is_closed);
    Pair pair(each.first, each.second);
    pair.ways[0]->is_closed = each.first_is_closed;
    pair.start();
    pair.meet();
    for (std::uint32_t from = 0; from < 2; ++from) {
      for (std::uint64_t i = 0; i < 2; ++i)
        pair.peers[from]->push(1 - from, i, pair.weights(from, 10 * from + i));
    }
    for (std::size_t to = 0; to < 2; ++to) {
      REQUIRE(eventually([&] { return pair.peers[to]->seen.frame_count() == 4; }));
      const auto frames = pair.peers[to]->seen.frames();
      for (std::uint64_t i = 0; i < 2; ++i) {
        const auto expected = random_values(kValues, 10 * (1 - to) + i);
        CHECK(digest(frames[2 + i].values->span()) == digest(expected->span()));
      }
      CHECK(pair.peers[to]->seen.faults().empty());
    }
    CHECK(pair.meter(0).frames_handed_over == each.from_first);
    CHECK(pair.meter(1).frames_handed_over == each.from_second);
    CHECK(pair.meter(0).payload_bytes_sent == 2 * kValues * sizeof(float));
    CHECK(pair.ways[0]->asked <= 1);
  }
}

TEST_CASE("weights that are not where others can take them go as bytes, between those that are") {
  Pair pair("here a", "here b");
  pair.start();
  pair.meet();
  pair.peers[0]->push(1, 0, pair.weights(0, 0));
  pair.peers[0]->push(1, 1, random_values(kValues, 1));
  pair.peers[0]->push(1, 2, pair.weights(0, 2));
  REQUIRE(eventually([&] { return pair.peers[1]->seen.frame_count() == 5; }));
  const auto frames = pair.peers[1]->seen.frames();
  for (std::uint64_t i = 0; i < 3; ++i) {
    CHECK(frames[2 + i].seq == i);
    CHECK(digest(frames[2 + i].values->span()) == digest(random_values(kValues, i)->span()));
  }
  CHECK(pair.meter(0).frames_handed_over == 2);
}

TEST_CASE("weights that are gone end the connection, and bytes come over the next one") {
  Pair pair("here a", "here b");
  pair.start();
  pair.meet();
  pair.ways[1]->is_gone = true;
  pair.peers[0]->push(1, 1, pair.weights(0, 1));
  REQUIRE(eventually([&] { return pair.peers[1]->seen.told("not there any more"); }));
  REQUIRE(eventually([&] { return pair.peers[0]->seen.down_count() > 0; }));
  pair.ways[1]->is_gone = false;
  for (std::uint64_t i = 2; pair.peers[1]->seen.frame_count() < 3 && i < 1000; ++i) {
    pair.peers[0]->push(1, i, pair.weights(0, i));
    eventually([&] { return pair.peers[1]->seen.frame_count() == 3; },
               std::chrono::milliseconds(30));
  }
  CHECK(pair.peers[1]->seen.frame_count() >= 3);
  CHECK(pair.meter(0).frames_handed_over == 1);
  CHECK(pair.meter(1).frames_taken == 0);
}

TEST_CASE(
    "a partner that takes nothing is lent a bounded number, and one that dies is lent no more") {
  Pair pair("here a", "here b");
  pair.peers[0]->start(pair.all);
  Hello hello = hello_of(1, 2, kValues);
  hello.handover = "here b";
  TestSocket silent = dial_as(hello, pair.peers[0]->address());
  // The other side could take from it.
  CHECK(header_in(silent.receive_some(Frame::kHeaderBytes)).kind ==
        static_cast<std::uint8_t>(wire::Kind::can_take));
  silent.send(message_of(wire::Kind::can_take, ""));
  silent.send(message_of(frame_of(FrameKind::ping, 1, 0, 1)));
  REQUIRE(eventually([&] { return pair.peers[0]->seen.frame_count() == 1; }));
  constexpr std::size_t kLent = kLentFrames;
  std::vector<std::weak_ptr<const merge::Snapshot>> watch;
  for (std::uint64_t i = 0; i < kLent + 2; ++i) {
    auto weights = pair.weights(0, i);
    watch.push_back(weights);
    pair.peers[0]->push(1, i, std::move(weights));
  }
  for (std::uint64_t i = 0; i < kLent + 2; ++i) {
    const std::size_t bytes = i < kLent ? kTicketFrameBytes : kFrameBytes;
    const wire::Header header = header_in(silent.receive_some(bytes));
    CHECK(header.handed_over == (i < kLent));
    CHECK(header.seq == i);
    CHECK(header.payload_bytes == kValues * sizeof(float));
  }
  CHECK(eventually([&] { return watch[kLent].expired() && watch[kLent + 1].expired(); }));
  for (std::size_t i = 0; i < kLent; ++i) CHECK_FALSE(watch[i].expired());
  silent.send(message_of(wire::Kind::taken, ""));
  CHECK(eventually([&] { return watch[0].expired(); }));
  CHECK_FALSE(watch[1].expired());
  silent.reset();
  CHECK(eventually([&] { return watch[kLent - 1].expired(); }));
  CHECK(pair.meter(0).frames_handed_over == kLent);
}

TEST_CASE("nobody hands over, takes or asks for what was not agreed") {
  struct Misdeed {
    std::string offer;
    Bytes bytes;
    const char* said;
  };
  wire::Header with_body;
  with_body.kind = static_cast<std::uint8_t>(wire::Kind::can_take);
  with_body.payload_bytes = 4;
  wire::Header ping = wire::header_of(frame_of(FrameKind::ping, 1, 0, 1));
  ping.handed_over = true;
  Bytes damaged = frame_with_ticket(1);
  damaged[wire::kHeaderBytes] ^= std::byte{1};
  const std::vector<Misdeed> misdeeds{
      {"", frame_with_ticket(1), "weights handed over that were not asked for"},
      {"there b", frame_with_ticket(1), "weights handed over that were not asked for"},
      {"here b", frame_with_ticket(99), "weights that were handed over: not there any more"},
      {"here b", damaged, "body checksum is wrong"},
      {"here b", message_of(ping, {}, std::array<std::byte, wire::kTicketBytes>{}),
       "something handed over that is no model"},
      {"here b", message_of(wire::Kind::taken, ""), "weights taken that were not lent"},
      {"here b", message_of(with_body, {}, std::array<std::byte, 4>{}),
       "a message with a body where none belongs"}};
  for (const Misdeed& each : misdeeds) {
    CAPTURE(each.offer, each.said);
    Pair pair("here a", "here b");
    pair.peers[0]->start(pair.all);
    Hello hello = hello_of(1, 2, kValues);
    hello.handover = each.offer;
    TestSocket liar = dial_as(hello, pair.peers[0]->address());
    liar.send(each.bytes);
    CHECK(liar.ends());
    CHECK(eventually([&] { return pair.peers[0]->seen.told(each.said); }));
    CHECK(pair.peers[0]->seen.frame_count() == 0);
  }
  // A peer that hands nothing over is asked for nothing.
  Pair pair("", "");
  pair.peers[0]->start(pair.all);
  TestSocket liar = dial_as(hello_of(1, 2, kValues), pair.peers[0]->address());
  liar.send(message_of(wire::Kind::can_take, ""));
  CHECK(liar.ends());
  CHECK(eventually([&] { return pair.peers[0]->seen.told("weights asked for"); }));
}

}  // namespace hearsay::runtime
