// SPDX-License-Identifier: Apache-2.0
#include "runtime/export/tf_events.hpp"

#include <bit>
#include <cstring>
#include <span>

#include "gossip/wire/crc32c.hpp"

namespace hearsay::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "both formats are little-endian");

enum WireType : std::uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

template <typename T>
void put_fixed(std::string& out, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  out.append(raw, sizeof raw);
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, std::uint32_t field, WireType type) {
  put_varint(out, field << 3 | type);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view text) {
  put_key(out, field, WireType::bytes);
  put_varint(out, text.size());
  out += text;
}

// So that the CRC of bytes that hold CRCs is no special case.
std::uint32_t masked_crc(std::string_view text) {
  const std::uint32_t crc = gossip::wire::crc32c(std::as_bytes(std::span(text)));
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string record(std::string_view event) {
  std::string out;
  put_fixed(out, static_cast<std::uint64_t>(event.size()));
  put_fixed(out, masked_crc(out));
  out += event;
  put_fixed(out, masked_crc(event));
  return out;
}

std::string event_at(double wall_s) {
  std::string event;
  put_key(event, 1, WireType::fixed64);
  put_fixed(event, wall_s);
  return event;
}

}  // namespace

std::string tf_version_record(double wall_s) {
  std::string event = event_at(wall_s);
  put_bytes(event, 3, "brain.Event:2");
  return record(event);
}

std::string tf_scalar_record(double wall_s, std::int64_t step, std::string_view tag, float value) {
  std::string one;
  put_bytes(one, 1, tag);
  put_key(one, 2, WireType::fixed32);
  put_fixed(one, value);
  std::string summary;
  put_bytes(summary, 1, one);
  std::string event = event_at(wall_s);
  put_key(event, 2, WireType::varint);
  put_varint(event, static_cast<std::uint64_t>(step));
  put_bytes(event, 5, summary);
  return record(event);
}

}  // namespace hearsay::runtime
