// SPDX-License-Identifier: Apache-2.0
// Transports that behave: frames arrive whole, in order and as they were; both directions at once;
// addresses; what a slow receiver costs.
#include "runtime/net/transport.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "gossip/limits.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/net/test_support.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

namespace limits = gossip::limits;
using gossip::Frame;
using gossip::FrameKind;
using kernels::digest;

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::vector<merge::SnapshotRef> several(std::size_t count, std::size_t values) {
  std::vector<merge::SnapshotRef> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(random_values(values, i));
  return all;
}

// Weights that a device has, or has lost.
struct OnDevice final : merge::DeviceCopy {
  explicit OnDevice(merge::SnapshotRef of) : values(std::move(of)) {}
  std::size_t size() const override { return values->size(); }
  std::span<const float> host() override {
    if (is_lost) throw kernels::Fault(kernels::ExitCode::check_failed, "GPU 0: it is gone");
    return values->span();
  }
  merge::SnapshotRef values;
  bool is_lost = false;
};

}  // namespace

TEST_CASE("frames arrive whole, in order and byte for byte") {
  const std::size_t values = 300'001;  // more than a piece, and no multiple of anything
  const auto pool = start_pool(2, values);
  const auto weights = several(8, values);
  for (std::uint64_t i = 0; i < weights.size(); ++i) {
    Frame frame = frame_of(FrameKind::request, 0, 1, i, weights[i]);
    frame.samples = 1000 + i;
    frame.mass = 0.5;
    frame.wants_ack = i % 2 == 0;
    frame.end_game = i % 3 == 0;
    for (std::uint32_t v = 0; v < i; ++v) frame.votes.push_back({kernels::PeerId(v % 2), v});
    pool[0]->transport.send(frame);
    pool[0]->ping(1, 100 + i);
  }
  REQUIRE(eventually([&] { return pool[1]->seen.frame_count() == 16; }));
  const std::vector<Frame> frames = pool[1]->seen.frames();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Frame& frame = frames[2 * i];
    CAPTURE(i);
    REQUIRE(frame.values);
    CHECK(digest(frame.values->span()) == digest(weights[i]->span()));
    CHECK((frame.kind == FrameKind::request && frame.seq == i && frame.samples == 1000 + i));
    CHECK((frame.mass == 0.5 && frame.wants_ack == (i % 2 == 0) && frame.end_game == (i % 3 == 0)));
    REQUIRE(frame.votes.size() == i);
    if (i > 0) CHECK(frame.votes.back().age == i - 1);
    CHECK((frames[2 * i + 1].kind == FrameKind::ping && frames[2 * i + 1].seq == 100 + i));
  }
  CHECK(pool[0]->transport.meter().dials == 1);
  const TransportMeter sent = pool[0]->transport.meter(), got = pool[1]->transport.meter();
  CHECK(sent.payload_bytes_sent == 8 * 4 * values);
  CHECK(got.payload_bytes_received == sent.payload_bytes_sent);
  CHECK((sent.frames_sent == 16 && got.frames_received == 16));
  CHECK(pool[0]->seen.faults().empty());
  CHECK(pool[1]->seen.downs().empty());
}

TEST_CASE("bytes off the meter are those of the frames and the handshakes") {
  const auto pool = start_pool(2, 1000);
  pool[0]->ping(1, 0);
  REQUIRE(eventually([&] { return pool[1]->seen.frame_count() == 1; }));
  const std::uint64_t before = pool[1]->transport.meter().wire_bytes_received;
  Frame frame = frame_of(FrameKind::push, 0, 1, 1, random_values(1000, 1));
  frame.votes = {{kernels::PeerId(0), 1}, {kernels::PeerId(1), 2}};
  pool[0]->transport.send(frame);
  REQUIRE(eventually([&] { return pool[1]->seen.frame_count() == 2; }));
  CHECK(pool[1]->transport.meter().wire_bytes_received - before == frame.wire_bytes());
  REQUIRE(eventually([&] {
    return pool[0]->transport.meter().wire_bytes_sent ==
           pool[1]->transport.meter().wire_bytes_received;
  }));
}

TEST_CASE("weights that move are progress, pings are not") {
  using namespace std::chrono_literals;
  const auto pool = start_pool(2, 1000);
  const kernels::PeerId other[] = {kernels::PeerId(1), kernels::PeerId(0)};
  pool[0]->ping(1, 0);
  REQUIRE(eventually([&] { return pool[1]->seen.frame_count() == 1; }));
  const auto moved = [&](int i) { return pool[i]->transport.moved_at(other[i]); };
  const auto opened = std::array{moved(0), moved(1)};
  std::this_thread::sleep_for(5ms);
  pool[0]->ping(1, 1);
  pool[1]->ping(0, 0);
  REQUIRE(eventually(
      [&] { return pool[1]->seen.frame_count() == 2 && pool[0]->seen.frame_count() == 1; }));
  CHECK((moved(0) == opened[0] && moved(1) == opened[1]));
  pool[0]->transport.send(frame_of(FrameKind::push, 0, 1, 1, random_values(1000, 1)));
  REQUIRE(eventually([&] { return pool[1]->seen.frame_count() == 3; }));
  CHECK(eventually([&] { return moved(0) > opened[0] && moved(1) > opened[1]; }));
}

TEST_CASE(
    "weights on a device go out as their bytes; lost ones cost the connection, not the process") {
  const auto pool = start_pool(2, 1000);
  const auto weights = random_values(1000, 1);
  const auto sent = std::make_shared<merge::Snapshot>(), lost = std::make_shared<merge::Snapshot>();
  sent->on_device = std::make_shared<OnDevice>(weights);
  const auto broken = std::make_shared<OnDevice>(weights);
  broken->is_lost = true;
  lost->on_device = broken;
  pool[0]->push(1, 1, sent);
  REQUIRE(eventually([&] { return pool[1]->seen.frame_count() == 1; }));
  CHECK(digest(pool[1]->seen.frames()[0].values->span()) == digest(weights->span()));
  pool[0]->push(1, 2, lost);
  REQUIRE(eventually([&] { return pool[0]->seen.down_count() > 0; }));
  CHECK(pool[0]->transport.meter().frames_dropped == 1);
  std::uint64_t seq = 3;
  REQUIRE(eventually([&] {
    pool[0]->push(1, seq++, weights);
    return pool[1]->seen.frame_count() > 1;
  }));
  CHECK(pool[1]->seen.frames()[1].seq > 2);
}

TEST_CASE("100 MB in both directions at once through 4 KiB buffers both arrive") {
  const std::size_t values = (kSanitized ? 8 : 100) * kMiB / sizeof(float);
  const auto pool = start_pool(2, values, 4096);
  const auto a = random_values(values, 1), b = random_values(values, 2);
  pool[0]->push(1, 0, a);
  pool[1]->push(0, 0, b);
  REQUIRE(eventually([&] { return pool[0]->seen.frame_count() + pool[1]->seen.frame_count() > 0; },
                     2 * kPatience));
  // Neither has waited for the other to finish.
  CHECK(pool[0]->transport.meter().wire_bytes_received > kMiB / 4);
  CHECK(pool[1]->transport.meter().wire_bytes_received > kMiB / 4);
  REQUIRE(eventually(
      [&] { return pool[0]->seen.frame_count() == 1 && pool[1]->seen.frame_count() == 1; },
      2 * kPatience));
  CHECK(digest(pool[0]->seen.frames()[0].values->span()) == digest(b->span()));
  CHECK(digest(pool[1]->seen.frames()[0].values->span()) == digest(a->span()));
}

TEST_CASE("a port in use is a usage error that says what to try") {
  PoolPeer first(hello_of(0, 2, 1));
  const std::string address = first.address().text();
  std::string line;
  try {
    PoolPeer second(hello_of(1, 2, 1), 0, first.address());
  } catch (const kernels::UsageError& error) {
    line = error.what();
  }
  CHECK(line == "--listen: " + address +
                    ": Address already in use; take another port, or port 0 for any free one");
  CHECK_THROWS_AS(PoolPeer(hello_of(1, 2, 1), 0, {"192.0.2.1", 0}), kernels::UsageError);
}

TEST_CASE("port 0 becomes a real port, which another transport can dial") {
  PoolPeer a(hello_of(0, 2, 1)), b(hello_of(1, 2, 1));
  CHECK(a.address().port != 0);
  CHECK(a.address().port != b.address().port);
  a.start({a.address(), b.address()});
  b.start({a.address(), b.address()});
  a.ping(1, 7);
  REQUIRE(eventually([&] { return b.seen.frame_count() == 1; }));
}

TEST_CASE("IPv6 addresses and names connect like others") {
  for (const char* host : {"::1", "localhost"}) {
    CAPTURE(host);
    PoolPeer a(hello_of(0, 2, 1), 0, {host, 0});
    PoolPeer b(hello_of(1, 2, 1), 0, {host, 0});
    CHECK(a.address().port != 0);
    a.start({a.address(), {host, b.address().port}});
    b.start({{host, a.address().port}, b.address()});
    a.ping(1, 1);
    b.ping(0, 2);
    CHECK(eventually([&] { return a.seen.frame_count() == 1 && b.seen.frame_count() == 1; }));
  }
}

TEST_CASE("a receiver without room gets everything later") {
  const auto pool = start_pool(2, 1000);
  pool[1]->seen.have_room(false);
  for (std::uint64_t i = 0; i < 12; ++i) pool[0]->push(1, i, random_values(1000, i));
  for (std::uint64_t i = 12; i < 500; ++i) pool[0]->ping(1, i);
  REQUIRE(eventually([&] { return pool[1]->transport.meter().frames_received == 1; }));
  CHECK_FALSE(eventually([&] { return pool[1]->transport.meter().frames_received > 1; },
                         std::chrono::milliseconds(100)));  // it is not read on
  pool[1]->seen.have_room(true);
  REQUIRE(eventually([&] { return pool[1]->seen.frame_count() == 500; }));
  CHECK(seqs_from(pool[1]->seen.frames(), 0) == counted(0, 500));
  CHECK(pool[0]->transport.meter().frames_dropped == 0);
}

// Sends until that many have been dropped; returns how many were sent.
std::uint64_t send_until_dropped(PoolPeer& from, std::uint64_t first_seq, std::size_t values,
                                 std::vector<std::weak_ptr<const merge::Snapshot>>& alive,
                                 std::uint64_t dropped) {
  std::uint64_t seq = first_seq;
  const std::uint64_t goal = from.transport.meter().frames_dropped + dropped;
  while (from.transport.meter().frames_dropped < goal && seq < first_seq + 10'000) {
    const auto snapshot = blank_values(values);
    alive.push_back(snapshot);
    from.push(1, seq++, snapshot);
    if (seq % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return seq - first_seq;
}

TEST_CASE("what waits for a slow receiver is bounded, and what is dropped is said once a time") {
  const std::size_t values = kMiB / 4 / sizeof(float);
  const auto pool = start_pool(2, values, 16'384);
  std::vector<std::weak_ptr<const merge::Snapshot>> snapshots;
  const auto alive = [&] {
    return std::size_t(std::count_if(snapshots.begin(), snapshots.end(),
                                     [](const auto& snapshot) { return !snapshot.expired(); }));
  };
  const auto told = [&] {
    const auto faults = pool[0]->seen.faults();
    return std::count_if(faults.begin(), faults.end(), [](const std::string& text) {
      return text.starts_with("send queue full: p01 takes weights too slowly");
    });
  };
  std::uint64_t sent = 0;
  for (int time = 1; time <= 2; ++time) {
    pool[1]->seen.have_room(false);
    sent += send_until_dropped(*pool[0], sent, values, snapshots, 100);
    CHECK(told() == time);
    REQUIRE(eventually([&] { return alive() <= limits::kSendFrames + 1; }));
    pool[1]->seen.have_room(true);
    REQUIRE(eventually([&] { return alive() == 0; }));
  }
  REQUIRE(eventually([&] {
    const TransportMeter meter = pool[0]->transport.meter();
    return meter.frames_sent + meter.frames_dropped == sent &&
           pool[1]->seen.frame_count() == meter.frames_sent;
  }));
  const auto seqs = seqs_from(pool[1]->seen.frames(), 0);
  CHECK(std::is_sorted(seqs.begin(), seqs.end()));
  CHECK(std::set(seqs.begin(), seqs.end()).size() == seqs.size());
  CHECK(pool[0]->seen.downs().empty());
}

}  // namespace hearsay::runtime
