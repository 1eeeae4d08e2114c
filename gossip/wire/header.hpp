// SPDX-License-Identifier: Apache-2.0
// The fixed start of every message between two peers, as 60 bytes (format.md has the layout and a
// worked example). Between encode and decode nothing is trusted: a header is first checked for
// what it is (decode_header), then for what it may be on this connection (find_fault), and only
// then is memory set aside for the body it declares. Pure functions. Cost: one CRC of 56 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gossip/frame.hpp"

namespace hearsay::gossip::wire {

inline constexpr std::uint8_t kVersion = 7;
inline constexpr std::size_t kHeaderBytes = 60;  // with its own checksum
inline constexpr std::size_t kTrailerBytes = 4;  // checksum of prefix and payload
inline constexpr std::size_t kTicketBytes = 96;  // instead of values that are handed over
static_assert(kHeaderBytes + kTrailerBytes == Frame::kHeaderBytes);

// What a message is. Below 32: a FrameKind. Above: between transports only, body is text (JSON).
enum class Kind : std::uint8_t {
  hello = 32,     // the dialler says who it is and what it trains
  welcome = 33,   // the same from the other side: the connection is open
  refused = 34,   // and why; the connection closes
  bye = 35,       // the sender closes on purpose; no body
  join = 36,      // by hand: may this peer come in? answered by welcome or refused
  can_take = 37,  // weights may be handed over to the sender; no body
  taken = 38,     // the oldest weights that were handed over to the sender are its own; no body
};

using HeaderBytes = std::array<std::byte, kHeaderBytes>;

struct Header {
  std::uint8_t kind = 0;
  std::uint8_t version = kVersion;
  bool wants_ack = false, converged = false, end_game = false;
  bool packed = false;  // the payload is a message of the pool's codec, or examples
  // A ticket stands for the payload, which stays where the sender has it
  // (runtime/net/handover.hpp).
  bool handed_over = false;
  std::uint16_t votes = 0;
  std::uint8_t pulses = 0;
  std::uint8_t sketches = 0;
  std::uint32_t sketch_values = 0;  // of each; 0 without sketches, else 2^10 .. 2^16
  PeerId from, to;
  std::uint64_t seq = 0;
  std::uint64_t answers = 0;  // chunk: the slice
  std::uint64_t samples = 0;
  double weight = 0.0;  // reply: alpha; push, returned: mass; chunk: examples; model: progress
  std::uint64_t payload_bytes = 0;

  // Of what stands for the payload in this message.
  std::uint64_t body_bytes() const { return handed_over ? kTicketBytes : payload_bytes; }
  bool is_frame() const { return kind < static_cast<std::uint8_t>(Kind::hello); }
  std::uint64_t prefix_bytes() const {  // votes, then pulses, then sketches
    return Frame::kVoteBytes * votes + Frame::kPulseBytes * pulses +
           sketches * (Frame::kSketchHeadBytes + std::uint64_t{2} * sketch_values);
  }
};

// Why a message is not accepted: one sentence for people, and whether the connection may go on.
struct WireFault {
  std::string what;
};

HeaderBytes encode_header(const Header& header);
std::variant<Header, WireFault> decode_header(std::span<const std::byte, kHeaderBytes> bytes);

// What may come in a pool with a codec.
struct CodecBounds {
  std::uint64_t most_bytes = 0;  // of a message of the codec; 0: the pool has none
  bool also_raw = false;         // weights as they are as well
};

// What this end of an open connection expects of the other.
struct Expectation {
  PeerId self, other;
  std::uint32_t peers = 0;
  std::uint64_t model_values = 0;
  CodecBounds codec;
  std::uint32_t sketch_values = 0;  // of a sketch; 0: the pool shares none
  std::uint64_t example_bytes = 0;  // of an example; 0: the pool passes none on
  bool can_take = false;            // weights may be handed over, as this end has said
};
// Empty when the frame may come: right sender and receiver, known kind, payload of exactly the
// model's size (chunk: a slice's size at most; in a pool with a codec a push, request or reply is a
// message of it, within its bound, or where it allows that the weights as they are; examples: 1 to
// 64 of the pool's size), handed over only where that was asked for, no more votes, pulses and
// sketches than there are bounds for, and sketches only of the pool's size and beside weights.
std::string find_fault(const Header& header, const Expectation& expected);

Header header_of(const Frame& frame);
// The frame without its weights and prefix.
Frame frame_of(const Header& header);

// Votes, pulses and sketches, as they stand between header and payload.
std::vector<std::byte> encode_prefix(const Frame& frame);
// `bytes` holds header.prefix_bytes(). False when one names a peer that does not exist, or a sketch
// has no version or a value that is no number; `out` is then unchanged.
bool decode_prefix(const Header& header, std::span<const std::byte> bytes, std::uint32_t peers,
                   Frame& out);

}  // namespace hearsay::gossip::wire
