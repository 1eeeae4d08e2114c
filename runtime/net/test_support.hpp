// SPDX-License-Identifier: Apache-2.0
// Peers of a small pool in one process for the tests of this folder: a transport each, and a
// recorder of everything that it tells. Recorders are written on io lanes and read by the test.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gossip/frame.hpp"
#include "kernels/core/digest.hpp"
#include "runtime/net/transport.hpp"

namespace hearsay::runtime {

// Sanitizers make everything several times slower and keep freed memory for a while.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// For what must happen: long, because machines are busy; a test that passes does not use it up.
inline constexpr std::chrono::seconds kPatience{30};
bool eventually(const std::function<bool()>& condition,
                std::chrono::nanoseconds at_most = kPatience);

class Recorder final : public TransportEvents {
 public:
  bool frame_arrived(gossip::Frame& frame) override;
  void peer_down(kernels::PeerId who, const std::string& why) override;
  void fault(const std::string& kind, const std::string& detail) override;

  void keep_frames(bool keep);  // false: arriving frames are only counted
  void have_room(bool room);    // false: frame_arrived() refuses
  std::vector<gossip::Frame> frames() const;
  std::size_t frame_count() const;
  // "p01: connection closed", "connection refused: 127.0.0.1:40000: no hello"; the first hundred.
  std::vector<std::string> downs() const;
  std::vector<std::string> faults() const;
  std::size_t down_count() const;
  bool told(const std::string& part) const;  // whether a peer_down or a fault says that

 private:
  mutable std::mutex mutex_;
  bool keep_ = true, room_ = true;
  std::size_t frame_count_ = 0, down_count_ = 0;
  std::vector<gossip::Frame> frames_;
  std::vector<std::string> downs_, faults_;
};

// Peer `id` of a pool of `peers` that trains one tensor of `values` values.
Hello hello_of(std::uint32_t id, std::uint32_t peers, std::size_t values);
std::shared_ptr<merge::Snapshot> blank_values(std::size_t values);
merge::PackedRef random_message(std::size_t bytes, std::uint64_t seed);
merge::SnapshotRef random_values(std::size_t values, std::uint64_t seed);
gossip::Frame frame_of(gossip::FrameKind kind, std::uint32_t from, std::uint32_t to,
                       std::uint64_t seq, merge::SnapshotRef values = nullptr);

struct PoolPeer {
  explicit PoolPeer(Hello who, int socket_buffer_bytes = 0, Endpoint listen = {"127.0.0.1", 0},
                    std::shared_ptr<Security> security = nullptr);
  void start(std::vector<Endpoint> addresses);
  Endpoint address() const { return transport.listening(); }
  void ping(std::uint32_t to, std::uint64_t seq);
  void push(std::uint32_t to, std::uint64_t seq, merge::SnapshotRef values);

  Hello hello;
  std::uint64_t most_packed_bytes = 0;  // of the codec that `hello` names
  Recorder seen;                        // outlives the transport
  Transport transport;
};

// Peers 0, 1, ... that know each other's addresses and have started.
std::vector<std::unique_ptr<PoolPeer>> start_pool(std::uint32_t peers, std::size_t values,
                                                  int socket_buffer_bytes = 0);
// The same, in a codec whose messages are that long at most.
std::vector<std::unique_ptr<PoolPeer>> start_pool_with_codec(std::uint32_t peers,
                                                             std::size_t values,
                                                             std::uint64_t most_packed_bytes);

// The `seq` of every frame of that sender, in order of arrival.
std::vector<std::uint64_t> seqs_from(const std::vector<gossip::Frame>& frames, std::uint32_t from);
std::vector<std::uint64_t> counted(std::uint64_t first, std::uint64_t count);  // first, first + 1

}  // namespace hearsay::runtime
