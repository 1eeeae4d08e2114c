// SPDX-License-Identifier: Apache-2.0
// Every bound of the gossip core in one place. Times are run-clock times (virtual in a simulation).
#pragma once

#include <chrono>
#include <cstddef>

namespace hearsay::gossip::limits {

using namespace std::chrono_literals;

// Merges at one boundary when K = 0 is drawn again and again.
inline constexpr std::size_t kBurstMerges = 4;
// Frames that wait for a mini-batch boundary, all senders together.
inline constexpr std::size_t kInboxFrames = 64;
// Convergence votes carried by one frame: enough for news to spread in pools of any size.
constexpr std::size_t vote_entries(std::size_t peers) { return peers / 8 > 64 ? peers / 8 : 64; }

// An unanswered exchange is given up after 8 times the longest one seen so far, within these
// bounds.
inline constexpr auto kExchangeTimeoutFirst = 5s;
inline constexpr auto kExchangeTimeoutLeast = 500ms;
inline constexpr auto kExchangeTimeoutMost = 30s;

// A peer that has finished asks silent partners this often, and calls one gone after this silence.
inline constexpr auto kLingerTick = 1s;
inline constexpr auto kSilenceUntilGone = 5s;

}  // namespace hearsay::gossip::limits
