// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/test_support.hpp"

#include <numeric>
#include <thread>
#include <utility>

#include "gossip/event.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::size_t kTextsKept = 100;

void keep_text(std::vector<std::string>& texts, std::string text) {
  if (texts.size() < kTextsKept) texts.push_back(std::move(text));
}

TransportOptions options_of(int socket_buffer_bytes, Endpoint listen,
                            std::shared_ptr<Security> security) {
  TransportOptions options;
  options.security = std::move(security);
  options.listen = std::move(listen);
  options.socket_buffer_bytes = socket_buffer_bytes;
  options.blank = blank_values;
  return options;
}

}  // namespace

bool eventually(const std::function<bool()>& condition, std::chrono::nanoseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

bool Recorder::frame_arrived(gossip::Frame& frame) {
  const std::lock_guard lock(mutex_);
  if (!room_) return false;
  ++frame_count_;
  if (keep_) frames_.push_back(std::move(frame));
  return true;
}

void Recorder::peer_down(kernels::PeerId who, const std::string& why) {
  const std::lock_guard lock(mutex_);
  ++down_count_;
  keep_text(downs_, gossip::peer_name(who) + ": " + why);
}

void Recorder::fault(const std::string& kind, const std::string& detail) {
  const std::lock_guard lock(mutex_);
  keep_text(faults_, kind + ": " + detail);
}

void Recorder::keep_frames(bool keep) {
  const std::lock_guard lock(mutex_);
  keep_ = keep;
}

void Recorder::have_room(bool room) {
  const std::lock_guard lock(mutex_);
  room_ = room;
}

std::vector<gossip::Frame> Recorder::frames() const {
  const std::lock_guard lock(mutex_);
  return frames_;
}

std::size_t Recorder::frame_count() const {
  const std::lock_guard lock(mutex_);
  return frame_count_;
}

std::vector<std::string> Recorder::downs() const {
  const std::lock_guard lock(mutex_);
  return downs_;
}

std::vector<std::string> Recorder::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

std::size_t Recorder::down_count() const {
  const std::lock_guard lock(mutex_);
  return down_count_;
}

bool Recorder::told(const std::string& part) const {
  const std::lock_guard lock(mutex_);
  for (const auto* texts : {&downs_, &faults_}) {
    for (const std::string& text : *texts) {
      if (text.find(part) != std::string::npos) return true;
    }
  }
  return false;
}

Hello hello_of(std::uint32_t id, std::uint32_t peers, std::size_t values) {
  Hello hello;
  hello.run = "test-run";
  hello.peer = kernels::PeerId(id);
  hello.peers = peers;
  hello.incarnation = 1;
  hello.layout.add("0.weight", {values});
  return hello;
}

std::shared_ptr<merge::Snapshot> blank_values(std::size_t values) {
  auto snapshot = std::make_shared<merge::Snapshot>();
  snapshot->values = kernels::Buffer<float>(values);
  return snapshot;
}

merge::PackedRef random_message(std::size_t bytes, std::uint64_t seed) {
  kernels::Rng rng = kernels::Rng::stream(seed, "transport test");
  auto message = std::make_shared<merge::Packed>();
  message->bytes.resize(bytes);
  for (std::uint8_t& byte : message->bytes) byte = static_cast<std::uint8_t>(rng.below(256));
  return message;
}

merge::SnapshotRef random_values(std::size_t values, std::uint64_t seed) {
  kernels::Rng rng = kernels::Rng::stream(seed, "transport test");
  const auto snapshot = blank_values(values);
  for (float& value : snapshot->values.span()) value = static_cast<float>(rng.next_u32());
  return snapshot;
}

gossip::Frame frame_of(gossip::FrameKind kind, std::uint32_t from, std::uint32_t to,
                       std::uint64_t seq, merge::SnapshotRef values) {
  gossip::Frame frame;
  frame.kind = kind;
  frame.from = kernels::PeerId(from);
  frame.to = kernels::PeerId(to);
  frame.seq = seq;
  frame.values = std::move(values);
  return frame;
}

PoolPeer::PoolPeer(Hello who, int socket_buffer_bytes, Endpoint listen,
                   std::shared_ptr<Security> security)
    : hello(std::move(who)),
      transport(options_of(socket_buffer_bytes, std::move(listen), std::move(security))) {}

void PoolPeer::start(std::vector<Endpoint> addresses) {
  Hello self = hello;
  for (std::uint32_t i = 0; i < addresses.size(); ++i)
    self.book.push_back({kernels::PeerId(i), 0, std::move(addresses[i])});
  transport.start(std::move(self), seen, false, {}, {most_packed_bytes, false});
}

void PoolPeer::ping(std::uint32_t to, std::uint64_t seq) {
  transport.send(frame_of(gossip::FrameKind::ping, hello.peer.value, to, seq));
}

void PoolPeer::push(std::uint32_t to, std::uint64_t seq, merge::SnapshotRef values) {
  transport.send(frame_of(gossip::FrameKind::push, hello.peer.value, to, seq, std::move(values)));
}

std::vector<std::unique_ptr<PoolPeer>> start_pool(std::uint32_t peers, std::size_t values,
                                                  int socket_buffer_bytes) {
  std::vector<std::unique_ptr<PoolPeer>> pool;
  std::vector<Endpoint> addresses;
  for (std::uint32_t i = 0; i < peers; ++i) {
    pool.push_back(std::make_unique<PoolPeer>(hello_of(i, peers, values), socket_buffer_bytes));
    addresses.push_back(pool.back()->address());
  }
  for (const auto& peer : pool) peer->start(addresses);
  return pool;
}

std::vector<std::unique_ptr<PoolPeer>> start_pool_with_codec(std::uint32_t peers,
                                                             std::size_t values,
                                                             std::uint64_t most_packed_bytes) {
  std::vector<std::unique_ptr<PoolPeer>> pool;
  std::vector<Endpoint> addresses;
  for (std::uint32_t i = 0; i < peers; ++i) {
    Hello hello = hello_of(i, peers, values);
    hello.codec = "test";
    pool.push_back(std::make_unique<PoolPeer>(std::move(hello)));
    pool.back()->most_packed_bytes = most_packed_bytes;
    addresses.push_back(pool.back()->address());
  }
  for (const auto& peer : pool) peer->start(addresses);
  return pool;
}

std::vector<std::uint64_t> seqs_from(const std::vector<gossip::Frame>& frames, std::uint32_t from) {
  std::vector<std::uint64_t> seqs;
  for (const gossip::Frame& frame : frames) {
    if (frame.from.value == from) seqs.push_back(frame.seq);
  }
  return seqs;
}

std::vector<std::uint64_t> counted(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

}  // namespace hearsay::runtime
