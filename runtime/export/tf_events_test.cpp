// SPDX-License-Identifier: Apache-2.0
#include "runtime/export/tf_events.hpp"

#include <cstring>

#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

template <typename T>
T at(const std::string& text, std::size_t offset) {
  T value;
  std::memcpy(&value, text.data() + offset, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("a record is framed by its length and masked checksums", "[export]") {
  const std::string record = tf_version_record(0.0);
  const std::string event(
      "\x09\0\0\0\0\0\0\0\0\x1a\x0d"
      "brain.Event:2",
      24);
  CHECK(at<std::uint64_t>(record, 0) == event.size());
  CHECK(record.substr(12, event.size()) == event);
  CHECK(record.size() == 12 + event.size() + 4);
  // CRC-32C of 18 00 00 00 00 00 00 00, by the bitwise definition, then masked.
  std::uint32_t crc = ~0u;
  for (std::size_t i = 0; i < 8; ++i) {
    crc ^= static_cast<unsigned char>(record[i]);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0u);
  }
  crc = ~crc;
  CHECK(at<std::uint32_t>(record, 8) == (crc >> 15 | crc << 17) + 0xa282ead8u);
}

TEST_CASE("a scalar is an event with a step and a summary", "[export]") {
  const std::string record = tf_scalar_record(1.0, 300, "a/b", 0.5f);
  const std::string event(
      "\x09\0\0\0\0\0\0\xf0\x3f\x10\xac\x02\x2a\x0c\x0a\x0a\x0a\x03"
      "a/b\x15\0\0\0\x3f",
      26);
  CHECK(record.substr(12, record.size() - 16) == event);
}
