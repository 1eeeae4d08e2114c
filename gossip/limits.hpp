// SPDX-License-Identifier: Apache-2.0
// Every bound of the gossip core in one place. Times are run-clock times (virtual in a simulation).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace hearsay::gossip::limits {

using namespace std::chrono_literals;

// Merges at one boundary when K = 0 is drawn again and again.
inline constexpr std::size_t kBurstMerges = 4;
// Frames that wait for a mini-batch boundary, all senders together.
inline constexpr std::size_t kInboxFrames = 64;
// Convergence votes carried by one frame: enough for news to spread in pools of any size.
constexpr std::size_t vote_entries(std::size_t peers) { return peers / 8 > 64 ? peers / 8 : 64; }

// An exchange is given up when nothing has moved between the two peers for a while: for a partner
// that has never answered kQuietFirst (or 8 own mini-batches), then mean + 4 deviations of its
// answers, within these bounds. And when it takes too long altogether, though something moves (a
// lost answer between peers that talk): kExchangeMost (or 8 own mini-batches) at first, then 20
// times what answers need, which doubles for a partner each time that it was too short.
inline constexpr auto kQuietFirst = 2s;
inline constexpr auto kQuietLeast = 1s;
inline constexpr auto kQuietMost = 30s;
inline constexpr auto kExchangeMost = 15s;
inline constexpr auto kExchangeLeast = 5s;
inline constexpr auto kExchangeMostOfAll = 3600s;

// Bad models in a row after which their sender is ignored, and for how many own merges.
inline constexpr std::uint32_t kStrikes = 3;
inline constexpr std::uint64_t kCoolDownMerges = 50;
// How often a peer whose weights are no numbers any more starts again with a neighbour's.
inline constexpr std::uint32_t kRestores = 3;

// Push-sum mass of one peer: a pool's is its size. What claims more is no mass.
inline constexpr double kMostMass = 1e9;

// Signs of life: every peer beats this often, and a frame carries that many pulses.
inline constexpr auto kBeat = 1s;
inline constexpr std::size_t kPulses = 16;
// Sketches of a frame: all of a small pool's, 30 KiB at 1,024 values. With two, news
// took as many merges as a whole run has.
inline constexpr std::size_t kSketches = 15;
// Between questions to a peer that cannot be reached.
inline constexpr auto kRetryFirst = 1s;
inline constexpr auto kRetryMost = 10s;
// How long a partner is not chosen after it failed twice in a row, and after it was busy.
inline constexpr auto kAvoidFirst = 500ms;
inline constexpr auto kBusyFirst = 50ms;
inline constexpr auto kAvoidMost = 30s;
// Between questions about examples that a partner was offered and has not answered for; a tenth of
// the time a partner may be silent. And frames about examples that wait for a mini-batch boundary:
// of all, and of one kind from one sender, who has one offer at a time under way.
inline constexpr auto kAskAgain = 2s;
inline constexpr std::size_t kOffersWaiting = 64;
inline constexpr std::size_t kOffersOfOne = 4;
// Late joiners that wait for this peer's weights; more are told to ask somebody else.
inline constexpr std::size_t kFetches = 16;
// A late joiner that reaches nobody for this long begins with its own weights.
inline constexpr auto kJoinAlone = 10s;

// A peer that has finished asks silent partners this often, and calls one gone after this silence.
inline constexpr auto kLingerTick = 1s;
inline constexpr auto kSilenceUntilGone = 5s;

// Transport. Frames that have arrived and wait for the compute lane; then readers stop reading.
inline constexpr std::size_t kArrivalFrames = 16;
// Frames with weights that wait for one slow connection; what comes on top is dropped and said.
inline constexpr std::size_t kSendFrames = 16;
// Text of a handshake: names and shapes of all tensors.
inline constexpr std::size_t kHandshakeBytes = std::size_t{1} << 20;
// From dialling or accepting to an open connection.
inline constexpr auto kHandshakeTimeout = 5s;
// A message that has begun and does not move on for this long ends its connection.
inline constexpr auto kNoProgressTimeout = 10s;
// Between dials to a peer that does not answer: doubles from the first to the most.
inline constexpr auto kRedialFirst = 100ms;
inline constexpr auto kRedialMost = 10s;
// Accepted connections that have not yet said who they are, all together.
inline constexpr std::size_t kHalfOpenConnections = 64;
// What a peer that leaves allows for its last frames to go out and be taken.
inline constexpr auto kDrainTimeout = 5s;

}  // namespace hearsay::gossip::limits
