// SPDX-License-Identifier: Apache-2.0
#include "gossip/wire/header.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "gossip/event.hpp"
#include "gossip/examples/transfers.hpp"
#include "gossip/limits.hpp"
#include "gossip/wire/crc32c.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

constexpr std::array kMagic{std::byte{'h'}, std::byte{'s'}};
constexpr std::uint8_t kWantsAck = 1, kConverged = 2, kEndGame = 4, kPacked = 8;
constexpr std::uint8_t kHandedOver = 0x80;  // beside the kind
// Beside the flags: how many sketches. Beside the number of pulses: how many values each has, as
// the power of two less 9; 0 without sketches.
constexpr std::uint8_t kSketchShift = 4, kSketchBits = 0b1111 << kSketchShift;
constexpr std::uint8_t kPulseBits = 0b11111, kSizeShift = 5, kLeastPower = 9;

std::uint8_t size_code(std::uint32_t sketch_values) {
  if (sketch_values == 0) return 0;
  HS_CHECK(std::has_single_bit(sketch_values) && sketch_values >= 2u << kLeastPower &&
           sketch_values <= 128u << kLeastPower);
  return static_cast<std::uint8_t>(std::countr_zero(sketch_values) - kLeastPower);
}

// Offsets of the fields; format.md shows the same table.
enum Offset : std::size_t {
  at_magic = 0,
  at_version = 2,
  at_kind = 3,
  at_flags = 4,
  at_pulses = 5,
  at_votes = 6,
  at_from = 8,
  at_to = 12,
  at_seq = 16,
  at_answers = 24,
  at_samples = 32,
  at_weight = 40,
  at_payload = 48,
  at_checksum = 56
};

template <typename T>
void put(HeaderBytes& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <typename T>
T get(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

bool carries_model(FrameKind kind) {
  return kind == FrameKind::push || kind == FrameKind::request || kind == FrameKind::reply ||
         kind == FrameKind::returned || kind == FrameKind::model;
}

// The kinds that are said in the pool's codec, where it has one. A late joiner gets a whole model.
bool speaks_codec(FrameKind kind) {
  return kind == FrameKind::push || kind == FrameKind::request || kind == FrameKind::reply ||
         kind == FrameKind::chunk;
}

bool is_about_examples(FrameKind kind) { return kind >= FrameKind::examples; }

std::string examples_fault(const Header& h, const Expectation& expected) {
  if (expected.example_bytes == 0) return "examples in a pool that passes none on";
  if (static_cast<FrameKind>(h.kind) != FrameKind::examples) {
    return h.payload_bytes == 0 && !h.packed ? "" : "a payload where none belongs";
  }
  const std::uint64_t count = h.payload_bytes / expected.example_bytes;
  const bool fits = h.packed && count >= 1 && count <= kMostOffered &&
                    h.payload_bytes % expected.example_bytes == 0;
  return fits ? ""
              : "examples of " + std::to_string(h.payload_bytes) + " bytes where 1 to " +
                    std::to_string(kMostOffered) + " of " + std::to_string(expected.example_bytes) +
                    " belong";
}

std::string payload_fault(const Header& h, const Expectation& expected) {
  const auto kind = static_cast<FrameKind>(h.kind);
  if (is_about_examples(kind)) return examples_fault(h, expected);
  const auto wrong = [&](const std::string& belongs) {
    return "a payload of " + std::to_string(h.payload_bytes) + " bytes where " + belongs +
           " belong";
  };
  const CodecBounds& codec = expected.codec;
  const bool may_be_packed = codec.most_bytes > 0 && speaks_codec(kind);
  if (may_be_packed && !h.packed && !codec.also_raw) return "raw weights in a pool with a codec";
  if (may_be_packed && h.packed) {
    const bool fits = h.payload_bytes > 0 && h.payload_bytes <= codec.most_bytes;
    return fits ? "" : wrong("1 to " + std::to_string(codec.most_bytes));
  }
  if (h.packed) return "a message of a codec where none belongs";
  if (kind == FrameKind::chunk) {
    const std::uint64_t most = sizeof(float) * (expected.model_values / expected.peers + 1);
    const bool fits = h.payload_bytes <= most && h.payload_bytes % sizeof(float) == 0;
    return fits ? "" : wrong(std::to_string(most) + " at most");
  }
  const std::uint64_t whole = carries_model(kind) ? sizeof(float) * expected.model_values : 0;
  return h.payload_bytes == whole ? "" : wrong(std::to_string(whole));
}

std::string handover_fault(const Header& h, const Expectation& expected) {
  if (!h.handed_over) return {};
  if (!expected.can_take) return "weights handed over that were not asked for";
  return carries_model(static_cast<FrameKind>(h.kind)) && !h.packed
             ? ""
             : "something handed over that is no model";
}

std::string sketch_fault(const Header& h, const Expectation& expected) {
  if (h.sketches == 0) return {};
  if (expected.sketch_values == 0) return "sketches in a pool that shares none";
  if (h.sketches > limits::kSketches) return std::to_string(h.sketches) + " sketches in one frame";
  if (h.sketch_values != expected.sketch_values) {
    return "sketches of " + std::to_string(h.sketch_values) + " values where " +
           std::to_string(expected.sketch_values) + " belong";
  }
  const auto kind = static_cast<FrameKind>(h.kind);
  const bool fits = carries_model(kind) || kind == FrameKind::ping || kind == FrameKind::pong;
  return fits ? "" : "sketches in a frame of a kind that has none";
}

}  // namespace

HeaderBytes encode_header(const Header& h) {
  HeaderBytes bytes{};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin() + at_magic);
  put(bytes, at_version, h.version);
  put(bytes, at_kind, static_cast<std::uint8_t>(h.kind | (h.handed_over ? kHandedOver : 0)));
  put(bytes, at_flags,
      static_cast<std::uint8_t>((h.wants_ack ? kWantsAck : 0) | (h.converged ? kConverged : 0) |
                                (h.end_game ? kEndGame : 0) | (h.packed ? kPacked : 0) |
                                h.sketches << kSketchShift));
  put(bytes, at_pulses,
      static_cast<std::uint8_t>(h.pulses | size_code(h.sketch_values) << kSizeShift));
  put(bytes, at_votes, h.votes);
  put(bytes, at_from, h.from.value);
  put(bytes, at_to, h.to.value);
  put(bytes, at_seq, h.seq);
  put(bytes, at_answers, h.answers);
  put(bytes, at_samples, h.samples);
  put(bytes, at_weight, h.weight);
  put(bytes, at_payload, h.payload_bytes);
  put(bytes, at_checksum, crc32c(std::span(bytes).first(at_checksum)));
  return bytes;
}

std::variant<Header, WireFault> decode_header(std::span<const std::byte, kHeaderBytes> bytes) {
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin() + at_magic))
    return WireFault{"not a hearsay message"};
  Header h;
  h.version = get<std::uint8_t>(bytes, at_version);
  // The version comes before the checksum: another version may place its checksum elsewhere.
  if (h.version != kVersion) {
    return WireFault{"wire version " + std::to_string(h.version) + ", this program speaks " +
                     std::to_string(kVersion) + "; run the same hearsay on all machines"};
  }
  if (get<std::uint32_t>(bytes, at_checksum) != crc32c(bytes.first(at_checksum)))
    return WireFault{"header checksum is wrong"};
  const auto flags = get<std::uint8_t>(bytes, at_flags);
  const auto pulses = get<std::uint8_t>(bytes, at_pulses);
  const auto kind = get<std::uint8_t>(bytes, at_kind);
  h.kind = kind & ~kHandedOver;
  h.handed_over = (kind & kHandedOver) != 0;
  if (h.handed_over && !h.is_frame()) return WireFault{"a message handed over that is no frame"};
  h.wants_ack = (flags & kWantsAck) != 0;
  h.converged = (flags & kConverged) != 0;
  h.end_game = (flags & kEndGame) != 0;
  h.packed = (flags & kPacked) != 0;
  h.pulses = pulses & kPulseBits;
  h.sketches = (flags & kSketchBits) >> kSketchShift;
  if (const int code = pulses >> kSizeShift; code > 0) h.sketch_values = 1u << (code + kLeastPower);
  if ((h.sketches == 0) != (h.sketch_values == 0)) return WireFault{"sketches without a size"};
  h.votes = get<std::uint16_t>(bytes, at_votes);
  h.from = PeerId(get<std::uint32_t>(bytes, at_from));
  h.to = PeerId(get<std::uint32_t>(bytes, at_to));
  h.seq = get<std::uint64_t>(bytes, at_seq);
  h.answers = get<std::uint64_t>(bytes, at_answers);
  h.samples = get<std::uint64_t>(bytes, at_samples);
  h.weight = get<double>(bytes, at_weight);
  h.payload_bytes = get<std::uint64_t>(bytes, at_payload);
  return h;
}

std::string find_fault(const Header& h, const Expectation& expected) {
  if (h.kind > static_cast<std::uint8_t>(FrameKind::offered))
    return "unknown kind of frame " + std::to_string(h.kind);
  if (h.from != expected.other)
    return "a frame in the name of " + peer_name(h.from) + " from " + peer_name(expected.other);
  if (h.to != expected.self) return "a frame for " + peer_name(h.to);
  if (h.votes > limits::vote_entries(expected.peers))
    return std::to_string(h.votes) + " votes in one frame";
  if (h.pulses > limits::kPulses) return std::to_string(h.pulses) + " pulses in one frame";
  if (std::string fault = sketch_fault(h, expected); !fault.empty()) return fault;
  if (std::string fault = payload_fault(h, expected); !fault.empty()) return fault;
  if (std::string fault = handover_fault(h, expected); !fault.empty()) return fault;
  const auto kind = static_cast<FrameKind>(h.kind);
  const bool chunk = kind == FrameKind::chunk;
  if (chunk && h.answers >= expected.peers) return "slice " + std::to_string(h.answers);
  // NaN is legal in a chunk: a loss that is not finite travels as a count that is none.
  if (!chunk && !(h.weight >= 0.0 && h.weight <= limits::kMostMass))
    return "a weight that is no share";
  if (kind == FrameKind::reply && h.weight > 1.0) return "an alpha above 1";
  if (kind == FrameKind::model && h.weight > 1.0) return "progress above 1";
  return {};
}

Header header_of(const Frame& frame) {
  Header h;
  h.kind = static_cast<std::uint8_t>(frame.kind);
  h.wants_ack = frame.wants_ack;
  h.converged = frame.converged;
  h.end_game = frame.end_game;
  h.packed = frame.packed != nullptr;
  h.votes = static_cast<std::uint16_t>(frame.votes.size());
  h.pulses = static_cast<std::uint8_t>(frame.pulses.size());
  h.sketches = static_cast<std::uint8_t>(frame.sketches.size());
  h.sketch_values = static_cast<std::uint32_t>(frame.sketch_values());
  h.from = frame.from;
  h.to = frame.to;
  h.seq = frame.seq;
  h.answers = frame.kind == FrameKind::chunk ? frame.slice : frame.answers;
  h.samples = frame.samples;
  h.weight = frame.kind == FrameKind::reply ? frame.alpha : frame.mass;
  h.payload_bytes = frame.payload_bytes();
  return h;
}

Frame frame_of(const Header& h) {
  Frame frame;
  frame.kind = static_cast<FrameKind>(h.kind);
  frame.wants_ack = h.wants_ack;
  frame.converged = h.converged;
  frame.end_game = h.end_game;
  frame.from = h.from;
  frame.to = h.to;
  frame.seq = h.seq;
  if (frame.kind == FrameKind::chunk) {
    frame.slice = static_cast<std::uint32_t>(h.answers);
  } else {
    frame.answers = h.answers;
  }
  frame.samples = h.samples;
  (frame.kind == FrameKind::reply ? frame.alpha : frame.mass) = h.weight;
  return frame;
}

std::vector<std::byte> encode_prefix(const Frame& frame) {
  std::vector<std::byte> bytes(frame.wire_bytes() - frame.payload_bytes() - Frame::kHeaderBytes);
  std::byte* out = bytes.data();
  const auto add = [&](auto value) {
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  };
  for (const Vote& vote : frame.votes) {
    add(vote.peer.value);
    add(vote.age);
  }
  for (const Pulse& pulse : frame.pulses) {
    add(pulse.peer.value);
    add(pulse.incarnation);
    add(pulse.beat);
  }
  for (const Sketch& sketch : frame.sketches) {
    add(sketch.peer.value);
    add(sketch.version);
    const std::vector<std::uint8_t>& values = sketch.values->bytes;
    std::memcpy(out, values.data(), values.size());
    out += values.size();
  }
  return bytes;
}

bool decode_prefix(const Header& header, std::span<const std::byte> bytes, std::uint32_t peers,
                   Frame& out) {
  std::vector<Vote> votes(header.votes);
  std::vector<Pulse> pulses(header.pulses);
  std::size_t at = 0;
  const auto next = [&] {
    at += sizeof(std::uint32_t);
    return get<std::uint32_t>(bytes, at - sizeof(std::uint32_t));
  };
  for (Vote& vote : votes) {
    vote.peer = PeerId(next());
    vote.age = next();
    if (vote.peer.value >= peers) return false;
  }
  for (Pulse& pulse : pulses) {
    pulse.peer = PeerId(next());
    pulse.incarnation = next();
    pulse.beat = next();
    if (pulse.peer.value >= peers) return false;
  }
  std::vector<Sketch> sketches(header.sketches);
  for (Sketch& sketch : sketches) {
    sketch.peer = PeerId(next());
    sketch.version = get<std::uint64_t>(bytes, at);
    at += sizeof sketch.version;
    const auto values = bytes.subspan(at, 2 * header.sketch_values);
    at += values.size();
    auto packed = std::make_shared<merge::Packed>();
    packed->bytes.resize(values.size());
    std::memcpy(packed->bytes.data(), values.data(), values.size());
    if (sketch.peer.value >= peers || sketch.version == 0 || !all_finite(packed->bytes))
      return false;
    sketch.values = std::move(packed);
  }
  out.sketches = std::move(sketches);
  out.votes = std::move(votes);
  out.pulses = std::move(pulses);
  return true;
}

}  // namespace hearsay::gossip::wire
