// SPDX-License-Identifier: Apache-2.0
// Headers, votes and checksums: they survive encoding, damage is noticed, and lies are named.
#include "gossip/wire/header.hpp"

#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "gossip/wire/crc32c.hpp"
#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip::wire {
namespace {

constexpr std::uint64_t kModel = 1000;
const Expectation kExpected{PeerId(2), PeerId(1), 4, kModel, {}};

Header request() {
  Header h;
  h.kind = static_cast<std::uint8_t>(FrameKind::request);
  h.from = PeerId(1);
  h.to = PeerId(2);
  h.seq = 7;
  h.samples = 123'456;
  h.payload_bytes = sizeof(float) * kModel;
  return h;
}

// Of peer `peer`; all values 1.5.
Sketch sketch_of(std::uint32_t peer, std::uint32_t values, std::uint64_t version = 1) {
  auto packed = std::make_shared<merge::Packed>();
  for (std::uint32_t i = 0; i < values; ++i) {
    packed->bytes.push_back(0xc0);
    packed->bytes.push_back(0x3f);
  }
  return {PeerId(peer), version, packed};
}

std::span<const std::byte, kHeaderBytes> view(const HeaderBytes& bytes) { return bytes; }

// Of a request that is of this kind instead, with this payload.
std::string fault_of(FrameKind kind, bool packed, std::uint64_t bytes,
                     const Expectation& expected) {
  Header h = request();
  h.kind = static_cast<std::uint8_t>(kind);
  h.packed = packed;
  h.payload_bytes = bytes;
  return find_fault(h, expected);
}

}  // namespace

TEST_CASE("CRC-32C has the known value and may be continued") {
  const std::string_view digits = "123456789";
  const auto bytes = std::as_bytes(std::span(digits));
  CHECK(crc32c(bytes) == 0xE3069283u);
  Crc32c sum;
  for (const std::byte& b : bytes) sum.add({&b, 1});
  CHECK(sum.value() == 0xE3069283u);
  CHECK(crc32c({}) == 0u);
}

TEST_CASE("what is handed over is a model, to whoever has asked for that") {
  Header handed = request();
  handed.handed_over = true;
  const auto decoded = decode_header(view(encode_header(handed)));
  REQUIRE(std::holds_alternative<Header>(decoded));
  const Header& back = std::get<Header>(decoded);
  CHECK((back.handed_over && back.kind == handed.kind));
  CHECK((back.payload_bytes == handed.payload_bytes && back.body_bytes() == kTicketBytes));
  CHECK(find_fault(back, kExpected) == "weights handed over that were not asked for");
  Expectation expected = kExpected;
  expected.can_take = true;
  CHECK(find_fault(back, expected).empty());
  handed.kind = static_cast<std::uint8_t>(FrameKind::ping);
  handed.payload_bytes = 0;
  CHECK(find_fault(handed, expected) == "something handed over that is no model");
  handed.kind = static_cast<std::uint8_t>(Kind::hello);
  CHECK(std::holds_alternative<WireFault>(decode_header(view(encode_header(handed)))));
}

TEST_CASE("every frame survives encoding") {
  kernels::Rng rng = kernels::Rng::stream(11, "header test");
  const auto wide = [&] { return std::uint64_t{rng.below(~0u)} << 32 | rng.below(~0u); };
  for (int round = 0; round < 2000; ++round) {
    Frame frame;
    frame.kind = static_cast<FrameKind>(rng.below(11));
    frame.from = PeerId(rng.below(1000));
    frame.to = PeerId(rng.below(1000));
    frame.seq = wide();
    frame.samples = wide();
    frame.wants_ack = rng.below(2) == 1;
    frame.converged = rng.below(2) == 1;
    frame.end_game = rng.below(2) == 1;
    if (rng.below(2) == 1)
      frame.packed =
          std::make_shared<merge::Packed>(merge::Packed{std::vector<std::uint8_t>(rng.below(99))});
    const std::uint32_t sketches = rng.below(3);
    frame.sketches.assign(sketches, sketch_of(1, 1024u << rng.below(7)));
    frame.pulses.resize(rng.below(17));
    if (frame.kind == FrameKind::chunk) frame.slice = rng.below(1000);
    if (frame.kind != FrameKind::chunk) frame.answers = wide();
    (frame.kind == FrameKind::reply ? frame.alpha : frame.mass) = rng.uniform();
    const auto decoded = decode_header(view(encode_header(header_of(frame))));
    const Header* header = std::get_if<Header>(&decoded);
    REQUIRE(header != nullptr);
    const Frame back = frame_of(*header);
    REQUIRE(back.kind == frame.kind);
    REQUIRE((back.from == frame.from && back.to == frame.to));
    REQUIRE((back.seq == frame.seq && back.answers == frame.answers));
    REQUIRE((back.samples == frame.samples && back.slice == frame.slice));
    REQUIRE((back.alpha == frame.alpha && back.mass == frame.mass));
    REQUIRE((back.wants_ack == frame.wants_ack && back.converged == frame.converged));
    REQUIRE(back.end_game == frame.end_game);
    REQUIRE(header->packed == (frame.packed != nullptr));
    REQUIRE(header->payload_bytes == frame.payload_bytes());
    REQUIRE((header->pulses == frame.pulses.size() && header->sketches == sketches));
    REQUIRE(header->prefix_bytes() ==
            frame.wire_bytes() - frame.payload_bytes() - Frame::kHeaderBytes);
  }
}

TEST_CASE("every flipped bit of a header is noticed") {
  const HeaderBytes good = encode_header(request());
  for (std::size_t bit = 0; bit < 8 * kHeaderBytes; ++bit) {
    HeaderBytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    CAPTURE(bit);
    CHECK(std::holds_alternative<WireFault>(decode_header(view(bad))));
  }
}

TEST_CASE("another version is named before anything else is read") {
  Header h = request();
  h.version = 9;
  const auto decoded = decode_header(view(encode_header(h)));
  REQUIRE(std::holds_alternative<WireFault>(decoded));
  CHECK(std::get<WireFault>(decoded).what.find("wire version 9") != std::string::npos);
}

TEST_CASE("random bytes are no header") {
  kernels::Rng rng = kernels::Rng::stream(12, "header noise");
  for (int round = 0; round < 20'000; ++round) {
    HeaderBytes bytes;
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng.below(256));
    if (round % 2 == 0) {  // past the first checks
      bytes[0] = std::byte{'h'};
      bytes[1] = std::byte{'s'};
      bytes[2] = std::byte{kVersion};
    }
    REQUIRE(std::holds_alternative<WireFault>(decode_header(view(bytes))));
  }
}

TEST_CASE("a frame must be what this connection expects") {
  CHECK(find_fault(request(), kExpected).empty());
  const auto fault = [](auto change) {
    Header h = request();
    change(h);
    return find_fault(h, kExpected);
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(fault([](Header& h) { h.from = PeerId(3); }), "in the name of p03"));
  CHECK(has(fault([](Header& h) { h.to = PeerId(0); }), "for p00"));
  CHECK(has(fault([](Header& h) { h.payload_bytes = 1ull << 63; }), "9223372036854775808"));
  CHECK(has(fault([](Header& h) { h.payload_bytes += 4; }), "4004 bytes where 4000"));
  CHECK(has(fault([](Header& h) { h.payload_bytes = 0; }), "0 bytes"));
  CHECK(has(fault([](Header& h) { h.votes = 65; }), "65 votes"));
  CHECK(has(fault([](Header& h) { h.pulses = 17; }), "17 pulses"));
  CHECK(has(fault([](Header& h) {
              h.kind = static_cast<std::uint8_t>(FrameKind::model);
              h.weight = 1.01;
            }),
            "progress above 1"));
  CHECK(has(fault([](Header& h) { h.kind = static_cast<std::uint8_t>(FrameKind::fetch); }),
            "where 0"));
  CHECK(has(fault([](Header& h) { h.kind = 16; }), "unknown kind"));
  CHECK(has(fault([](Header& h) { h.weight = std::nan(""); }), "no share"));
  CHECK(has(fault([](Header& h) { h.weight = -0.5; }), "no share"));
  CHECK(has(fault([](Header& h) {
              h.kind = static_cast<std::uint8_t>(FrameKind::reply);
              h.weight = 1.5;
            }),
            "above 1"));
  CHECK(has(fault([](Header& h) { h.kind = static_cast<std::uint8_t>(FrameKind::ping); }),
            "where 0"));
  const auto chunk = [](std::uint64_t bytes, std::uint64_t slice) {
    Header h = request();
    h.kind = static_cast<std::uint8_t>(FrameKind::chunk);
    h.payload_bytes = bytes;
    h.answers = slice;
    h.weight = std::numeric_limits<double>::quiet_NaN();
    return find_fault(h, kExpected);
  };
  CHECK(chunk(1000, 3).empty());
  CHECK(chunk(1004, 3).empty());
  CHECK(has(chunk(1008, 3), "at most"));
  CHECK(has(chunk(1002, 3), "at most"));
  CHECK(has(chunk(1000, 4), "slice 4"));
}

TEST_CASE("in a pool with a codec weights come in it, within its bound, and models whole") {
  Expectation expected = kExpected;
  expected.codec.most_bytes = 500;
  const auto fault = [&](FrameKind kind, bool packed, std::uint64_t bytes) {
    return fault_of(kind, packed, bytes, expected);
  };
  for (const FrameKind kind :
       {FrameKind::push, FrameKind::request, FrameKind::reply, FrameKind::chunk}) {
    CHECK(fault(kind, true, 1).empty());
    CHECK(fault(kind, true, 500).empty());
    CHECK(fault(kind, true, 0) == "a payload of 0 bytes where 1 to 500 belong");
    CHECK(fault(kind, true, 501) == "a payload of 501 bytes where 1 to 500 belong");
    CHECK(fault(kind, true, 1ull << 63) ==
          "a payload of 9223372036854775808 bytes where 1 to 500 belong");
    CHECK(fault(kind, false, 4 * kModel) == "raw weights in a pool with a codec");
    CHECK(fault(kind, false, 0) == "raw weights in a pool with a codec");
  }
  expected.codec.also_raw = true;
  for (const FrameKind kind : {FrameKind::push, FrameKind::request, FrameKind::reply}) {
    CHECK(fault(kind, false, 4 * kModel).empty());
    CHECK(fault(kind, false, 4 * kModel - 4).ends_with(" belong"));
    CHECK(fault(kind, true, 501) == "a payload of 501 bytes where 1 to 500 belong");
    CHECK(fault(kind, true, 4 * kModel).ends_with("where 1 to 500 belong"));
  }
  for (const FrameKind kind : {FrameKind::model, FrameKind::returned}) {
    CHECK(fault(kind, false, 4 * kModel).empty());
    CHECK(fault(kind, true, 4 * kModel) == "a message of a codec where none belongs");
  }
  CHECK(fault(FrameKind::ping, true, 0) == "a message of a codec where none belongs");
  CHECK(fault(FrameKind::ping, false, 0).empty());
  expected.codec.most_bytes = 0;
  CHECK(fault(FrameKind::push, true, 100) == "a message of a codec where none belongs");
  CHECK(fault(FrameKind::push, true, 4 * kModel) == "a message of a codec where none belongs");
  CHECK(fault(FrameKind::push, false, 4 * kModel).empty());
}

TEST_CASE("examples come in pools that pass them on, 1 to 64 of the pool's size") {
  Expectation expected = kExpected;
  const auto fault = [&](FrameKind kind, bool packed, std::uint64_t bytes) {
    return fault_of(kind, packed, bytes, expected);
  };
  CHECK(fault(FrameKind::examples, true, 840) == "examples in a pool that passes none on");
  CHECK(fault(FrameKind::receipt, false, 0) == "examples in a pool that passes none on");
  expected.example_bytes = 840;
  CHECK(fault(FrameKind::examples, true, 840).empty());
  CHECK(fault(FrameKind::examples, true, 64 * 840).empty());
  const char* const wrong = "examples of 0 bytes where 1 to 64 of 840 belong";
  CHECK(fault(FrameKind::examples, true, 0) == wrong);
  CHECK_FALSE(fault(FrameKind::examples, true, 841).empty());
  CHECK_FALSE(fault(FrameKind::examples, true, 65 * 840).empty());
  CHECK_FALSE(fault(FrameKind::examples, true, 1ull << 63).empty());
  CHECK_FALSE(fault(FrameKind::examples, false, 840).empty());
  for (const FrameKind kind : {FrameKind::receipt, FrameKind::offered}) {
    CHECK(fault(kind, false, 0).empty());
    CHECK(fault(kind, false, 840) == "a payload where none belongs");
    CHECK(fault(kind, true, 0) == "a payload where none belongs");
  }
}

TEST_CASE("the worked example of format.md is what the code writes") {
  Frame reply;
  reply.kind = FrameKind::reply;
  reply.from = PeerId(1);
  reply.to = PeerId(2);
  reply.seq = 7;
  reply.answers = 5;
  reply.samples = 123'456;
  reply.alpha = 0.5;
  reply.end_game = true;
  reply.votes = {{PeerId(3), 2}};
  reply.pulses = {{PeerId(1), 4, 60}};
  const auto snapshot = std::make_shared<merge::Snapshot>();
  snapshot->values = kernels::Buffer<float>(2);
  snapshot->values[0] = 1.0f;
  snapshot->values[1] = -2.5f;
  reply.values = snapshot;
  const std::string_view shown =
      "68 73 07 03 04 01 01 00 01 00 00 00 02 00 00 00 "
      "07 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 "
      "40 e2 01 00 00 00 00 00 00 00 00 00 00 00 e0 3f "
      "08 00 00 00 00 00 00 00 7a 69 97 01 "
      "03 00 00 00 02 00 00 00 "
      "01 00 00 00 04 00 00 00 3c 00 00 00 "
      "00 00 80 3f 00 00 20 c0 "
      "ba c8 65 ad ";

  std::string written;
  const auto write = [&](std::span<const std::byte> bytes) {
    for (const std::byte b : bytes) {
      char text[4];
      std::snprintf(text, sizeof text, "%02x ", static_cast<unsigned>(b));
      written += text;
    }
  };
  Crc32c sum;
  write(encode_header(header_of(reply)));
  const std::vector<std::byte> prefix = encode_prefix(reply);
  for (const auto body : {std::span<const std::byte>(prefix), std::as_bytes(snapshot->span())}) {
    write(body);
    sum.add(body);
  }
  const std::uint32_t trailer = sum.value();
  write(std::as_bytes(std::span(&trailer, 1)));
  CHECK(written == shown);
  CHECK(written.size() == 3 * reply.wire_bytes());
}

TEST_CASE("votes and pulses name peers that exist") {
  Frame frame;
  frame.votes = {{PeerId(3), 2}, {PeerId(0), 9}};
  frame.pulses = {{PeerId(2), 1, 7}, {PeerId(1), 0, Pulse::kLeft}, {PeerId(3), 8, 0}};
  const std::vector<std::byte> bytes = encode_prefix(frame);
  REQUIRE(bytes.size() == 2 * 8 + 3 * 12);
  const Header header = header_of(frame);
  CHECK(header.prefix_bytes() == bytes.size());
  Frame back;
  REQUIRE(decode_prefix(header, bytes, 4, back));
  REQUIRE(back.votes.size() == 2);
  CHECK((back.votes[0].peer == PeerId(3) && back.votes[0].age == 2));
  CHECK((back.votes[1].peer == PeerId(0) && back.votes[1].age == 9));
  CHECK(back.pulses == frame.pulses);
  Frame untouched;
  CHECK_FALSE(decode_prefix(header, bytes, 3, untouched));
  CHECK((untouched.votes.empty() && untouched.pulses.empty()));
  frame.votes.clear();
  CHECK_FALSE(decode_prefix(header_of(frame), encode_prefix(frame), 3, untouched));
}

TEST_CASE("sketches come beside weights and in questions, in the pool's size, fifteen at most") {
  const auto fault = [](std::uint8_t sketches, std::uint32_t values, std::uint32_t expected,
                        FrameKind kind = FrameKind::request) {
    Header h = request();
    h.kind = static_cast<std::uint8_t>(kind);
    if (kind == FrameKind::ping) h.payload_bytes = 0;
    h.sketches = sketches;
    h.sketch_values = values;
    Expectation pool = kExpected;
    pool.sketch_values = expected;
    return find_fault(h, pool);
  };
  CHECK(fault(2, 1024, 1024).empty());
  CHECK(fault(0, 0, 1024).empty());
  CHECK(fault(1, 1024, 0) == "sketches in a pool that shares none");
  CHECK(fault(15, 1024, 1024).empty());
  CHECK(fault(16, 1024, 1024) == "16 sketches in one frame");
  CHECK(fault(1, 65'536, 1024) == "sketches of 65536 values where 1024 belong");
  CHECK(fault(1, 1024, 1024, FrameKind::ping).empty());
  CHECK(fault(1, 1024, 1024, FrameKind::finished) == "sketches in a frame of a kind that has none");
  Header h = request();
  h.sketches = 1;  // and no size
  CHECK(std::holds_alternative<WireFault>(decode_header(view(encode_header(h)))));
  h.sketches = 0;
  h.sketch_values = 1024;
  CHECK(std::holds_alternative<WireFault>(decode_header(view(encode_header(h)))));
}

TEST_CASE("sketches survive encoding; of nobody, of no version or without numbers they are none") {
  Frame frame;
  frame.votes = {{PeerId(1), 9}};
  frame.pulses = {{PeerId(2), 1, 7}};
  frame.sketches = {sketch_of(3, 1024, 1ull << 40), sketch_of(0, 1024, 2)};
  const std::vector<std::byte> bytes = encode_prefix(frame);
  REQUIRE(bytes.size() == 8 + 12 + 2 * (12 + 2048));
  const Header header = header_of(frame);
  Frame back;
  REQUIRE(decode_prefix(header, bytes, 4, back));
  REQUIRE(back.sketches.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(back.sketches[i].peer == frame.sketches[i].peer);
    CHECK(back.sketches[i].version == frame.sketches[i].version);
    CHECK(back.sketches[i].values->bytes == frame.sketches[i].values->bytes);
  }
  CHECK(back.sketches[0].value(1023) == 1.5f);
  Frame untouched;
  CHECK_FALSE(decode_prefix(header, bytes, 3, untouched));
  CHECK(untouched.votes.empty());
  frame.sketches[1].version = 0;
  CHECK_FALSE(decode_prefix(header_of(frame), encode_prefix(frame), 4, untouched));
  frame.sketches[1].version = 2;
  std::vector<std::byte> infinite = encode_prefix(frame);
  infinite[infinite.size() - 2] = std::byte{0x80};
  infinite[infinite.size() - 1] = std::byte{0xff};
  CHECK_FALSE(decode_prefix(header, infinite, 4, untouched));
  CHECK(untouched.sketches.empty());
}

}  // namespace hearsay::gossip::wire
