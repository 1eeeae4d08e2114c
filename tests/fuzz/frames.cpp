// SPDX-License-Identifier: Apache-2.0
// Bytes from another peer, read as the io lane reads them, and frames that pass handed to a peer
// that trains. The first byte chooses the kind of exchange and what is put right: nothing, the
// checksums, or also who speaks to whom and how long the payload is. Between frames one byte says
// what else happens: a mini-batch ends, a timer fires, the sender is gone, the run shall stop.
#include <algorithm>
#include <cstring>

#include "gossip/wire/crc32c.hpp"
#include "gossip/wire/header.hpp"
#include "tests/fuzz/seat.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using namespace hearsay::gossip;
using fuzz::require;

namespace {

constexpr std::size_t kMostFrames = 64;

enum Mend : std::uint8_t { nothing, checksums, fields };

// Where the fields of a header lie; wire/format.md has the table.
constexpr std::size_t kAtKind = 3, kAtFlags = 4, kAtPulses = 5, kAtVotes = 6, kAtFrom = 8,
                      kAtTo = 12, kAtSlice = 24, kAtPayload = 48, kAtChecksum = 56;

template <typename T>
T get(const wire::HeaderBytes& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <typename T>
void put(wire::HeaderBytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

void mend_fields(wire::HeaderBytes& bytes) {
  const std::uint8_t kind = get<std::uint8_t>(bytes, kAtKind) % 16;
  put(bytes, kAtKind, kind);
  put<std::uint16_t>(bytes, kAtVotes, get<std::uint16_t>(bytes, kAtVotes) % 8);
  // Flags of three bits, up to 2 sketches of the pool's size beside weights, up to 7 pulses.
  const auto flags = get<std::uint8_t>(bytes, kAtFlags);
  const bool weights = kind == 0 || kind == 2 || kind == 3 || kind == 5 || kind == 12;
  const int sketches = weights ? (flags >> 4) % 3 : 0;
  const int packed = kind == static_cast<std::uint8_t>(FrameKind::examples) ? 8 : 0;
  put<std::uint8_t>(bytes, kAtFlags,
                    static_cast<std::uint8_t>((flags & 7) | packed | sketches << 4));
  const int pulses = get<std::uint8_t>(bytes, kAtPulses) % 8;
  put<std::uint8_t>(bytes, kAtPulses, static_cast<std::uint8_t>(pulses | (sketches > 0) << 5));
  put<std::uint32_t>(bytes, kAtFrom, 1 + get<std::uint32_t>(bytes, kAtFrom) % (fuzz::kPeers - 1));
  put<std::uint32_t>(bytes, kAtTo, 0);
  const auto frame_kind = static_cast<FrameKind>(kind);
  std::uint64_t payload = 0;
  if (frame_kind == FrameKind::chunk) {
    put<std::uint64_t>(bytes, kAtSlice, get<std::uint64_t>(bytes, kAtSlice) % fuzz::kPeers);
    payload = sizeof(float) *
              (get<std::uint64_t>(bytes, kAtPayload) % (fuzz::kValues / fuzz::kPeers + 2));
  } else if (frame_kind == FrameKind::examples) {
    payload = fuzz::kExamples.bytes() * (1 + get<std::uint64_t>(bytes, kAtPayload) % 4);
  } else if (frame_kind != FrameKind::ack && frame_kind != FrameKind::busy &&
             (frame_kind < FrameKind::chunk || frame_kind == FrameKind::model)) {
    payload = sizeof(float) * fuzz::kValues;
  }
  put(bytes, kAtPayload, payload);
}

// One whole frame, or nothing: then the connection is closed.
std::optional<Frame> read_frame(fuzz::Bytes& in, Mend mend, LocalModel& model) {
  wire::HeaderBytes bytes{};
  const auto taken = in.take(bytes.size());
  if (taken.size() < bytes.size() && mend != fields) return std::nullopt;
  std::ranges::copy(std::as_bytes(taken), bytes.begin());
  if (mend == fields) {
    bytes[0] = std::byte{'h'};
    bytes[1] = std::byte{'s'};
    bytes[2] = std::byte{wire::kVersion};
    mend_fields(bytes);
  }
  if (mend != nothing) put(bytes, kAtChecksum, wire::crc32c(std::span(bytes).first(kAtChecksum)));
  const auto decoded = wire::decode_header(bytes);
  const auto* const header = std::get_if<wire::Header>(&decoded);
  if (header == nullptr) return std::nullopt;
  require(wire::encode_header(*header) == bytes, "an accepted header gives its bytes again");
  if (!wire::find_fault(*header, {PeerId(0), header->from, fuzz::kPeers, fuzz::kValues, {},
                                  fuzz::kSketchValues, fuzz::kExamples.bytes()})
           .empty() ||
      header->from == PeerId(0) || header->from.value >= fuzz::kPeers)
    return std::nullopt;
  require(header->payload_bytes <= (header->packed ? kMostOffered * fuzz::kExamples.bytes()
                                                   : sizeof(float) * fuzz::kValues),
          "no payload above the model's size, or 64 examples");
  Frame frame = wire::frame_of(*header);
  std::vector<std::byte> body(header->prefix_bytes() + header->payload_bytes);
  const auto rest = in.take(body.size());
  if (rest.size() < body.size() && mend != fields) return std::nullopt;
  std::ranges::copy(std::as_bytes(rest), body.begin());
  const auto prefix = std::span(body).first(header->prefix_bytes());
  if (!wire::decode_prefix(*header, prefix, fuzz::kPeers, frame)) return std::nullopt;
  if (header->packed) {
    auto packed = std::make_shared<merge::Packed>();
    packed->bytes.resize(header->payload_bytes);
    std::memcpy(packed->bytes.data(), body.data() + prefix.size(), header->payload_bytes);
    frame.packed = std::move(packed);
  } else if (header->payload_bytes > 0) {
    std::vector<float> values(header->payload_bytes / sizeof(float));
    std::memcpy(values.data(), body.data() + prefix.size(), header->payload_bytes);
    frame.values = model.copy(values);
  }
  if (mend == nothing) {
    const auto trailer = in.take(wire::kTrailerBytes);
    std::uint32_t sum = 0;
    if (trailer.size() < sizeof sum) return std::nullopt;
    std::memcpy(&sum, trailer.data(), sizeof sum);
    if (sum != wire::crc32c(body)) return std::nullopt;
  }
  require(wire::encode_header(wire::header_of(frame)) == bytes, "a frame keeps all of its header");
  require(std::ranges::equal(wire::encode_prefix(frame), prefix),
          "and its votes, pulses and sketches");
  return frame;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes in(data, size);
  const std::uint8_t choice = in.byte();
  const auto mend = static_cast<Mend>(choice % 3);
  fuzz::Seat seat(static_cast<fuzz::SeatKind>(choice / 3 % fuzz::kSeatKinds));
  seat.on(input::Start{});
  for (std::size_t count = 0; count < kMostFrames && !in.empty() && !seat.ended(); ++count) {
    const std::uint8_t what = in.byte();
    const PeerId who(1 + what / 16 % (fuzz::kPeers - 1));
    switch (what % 16) {
      case 0: seat.fire_timer(what / 16); continue;
      case 1: seat.on(input::PeerDown{who}); continue;
      case 2: seat.on(input::Stop{"target reached"}); continue;
      case 3: seat.finish_step(); continue;
      default: break;
    }
    auto frame = read_frame(in, mend, seat.model());
    if (!frame) break;
    seat.on(input::FrameIn{std::move(*frame)});
    if (what % 2 == 0) seat.finish_step();
  }
  seat.finish_step();
  return 0;
}
