// SPDX-License-Identifier: Apache-2.0
// Bytes that no codec wrote: refused with one line, or floats; never a read or write outside
// (run under AddressSanitizer).
#include <cmath>

#include "gossip/codec/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;

kernels::Layout two_tensors() {
  kernels::Layout layout;
  layout.add("weight", {1200});
  layout.add("bias", {5});
  return layout;
}

// Right behind the message lies memory that may not be read: the vector is of its exact size.
Unpacked read(const Codec& codec, PackedView bytes, std::span<float> in) {
  static const std::vector<float> base(2000, 1.0f);
  merge::Packed message;
  message.bytes = PackedBytes(bytes.begin(), bytes.end());
  const Unpacked result = codec.decode(message, std::span(base).first(in.size()), in);
  if (!result.fault.empty()) {
    CHECK(result.fault.find('\n') == std::string::npos);
  } else {
    CHECK(result.values <= in.size());
  }
  return result;
}

}  // namespace

TEST_CASE("A message cut off or too long is refused") {
  const kernels::Layout layout = two_tensors();
  std::vector<float> in(layout.size());
  for (const CodecSettings& settings : all_settings()) {
    INFO(text_of(settings));
    const auto plan = make_codec_plan(settings, layout, normals(layout.size(), 1.0, 1), 3);
    const auto codec = plan->make(PeerId(0));
    const auto said = codec->encode(normals(layout.size(), 1.0, 2), nullptr);
    for (std::size_t length = 0; length < said->bytes.size(); ++length)
      REQUIRE(read(*codec, PackedView(said->bytes).first(length), in).fault != "");
    PackedBytes longer = said->bytes;
    longer.push_back(0);
    CHECK(read(*codec, longer, in).fault != "");
  }
}

TEST_CASE("A message with any byte changed is refused or gives floats") {
  const kernels::Layout layout = two_tensors();
  std::vector<float> in(layout.size());
  for (const CodecSettings& settings : all_settings()) {
    INFO(text_of(settings));
    const auto plan = make_codec_plan(settings, layout, normals(layout.size(), 1.0, 1), 3);
    const auto codec = plan->make(PeerId(0)), partner = plan->make(PeerId(1));
    const auto question = codec->encode(normals(layout.size(), 1.0, 2), nullptr);
    const auto answer = partner->encode(normals(layout.size(), 1.0, 3), question.get());
    for (const PackedBytes* message : {&question->bytes, &answer->bytes}) {
      PackedBytes bytes = *message;
      for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (const unsigned change : {0x01u, 0x80u, 0xFFu}) {
          bytes[at] = static_cast<std::uint8_t>((*message)[at] ^ change);
          const Unpacked result = read(*codec, bytes, in);
          if (at < kPackedHead) REQUIRE(result.fault != "");
        }
        bytes[at] = (*message)[at];
      }
    }
  }
}

TEST_CASE("A message of another spec, layout or start is refused") {
  const std::vector<float> start = normals(1205, 1.0, 1), w = normals(1205, 1.0, 2);
  std::vector<float> in(1205), moved = start;
  moved[700] += 1.0f;
  for (const CodecSettings& settings : all_settings()) {
    INFO(text_of(settings));
    CodecSettings other = settings;
    other.fits_bits = false;
    if (settings.kind == Kind::lossless) other.anchor = 8;
    other.values.kind = settings.values.kind == ValueKind::bf16 ? ValueKind::int8 : ValueKind::bf16;
    const auto said =
        make_codec_plan(settings, two_tensors(), start, 3)->make(PeerId(0))->encode(w, nullptr);
    const auto fault = [&](const CodecSettings& of, const kernels::Layout& layout,
                           std::span<const float> from) {
      return make_codec_plan(of, layout, from, 3)->make(PeerId(1))->decode(*said, w, in).fault;
    };
    CHECK(fault(settings, two_tensors(), start) == "");
    CHECK(fault(other, two_tensors(), start).find("another codec") != std::string::npos);
    CHECK(fault(settings, plain(1205), start).find("another codec") != std::string::npos);
    CHECK(fault(settings, two_tensors(), moved).find("another codec") != std::string::npos);
  }
}

TEST_CASE("Infinite scales and values pass through for the merge to refuse") {
  const auto plan =
      make_codec_plan(dense(ValueKind::int8, true), plain(64), normals(64, 1.0, 1), 3);
  const auto codec = plan->make(PeerId(0));
  const std::vector<float> w = normals(64, 1.0, 2);
  merge::Packed message = *codec->encode(w, nullptr);
  message.bytes[kPackedHead] = 0x80;  // the block's scale becomes infinity
  message.bytes[kPackedHead + 1] = 0x7F;
  std::vector<float> in(64);
  const Unpacked result = codec->decode(message, w, in);
  CHECK(result.fault == "");
  CHECK(!std::isfinite(in[0]));
}

}  // namespace hearsay::gossip
