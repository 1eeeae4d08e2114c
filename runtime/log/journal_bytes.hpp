// SPDX-License-Identifier: Apache-2.0
// The bytes of an input journal, for its writer and its reader: kinds of entries, and numbers in
// base 128, least first, the high bit for "more follows" (LEB128). Little-endian hosts.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearsay::runtime::journal {

inline constexpr std::string_view kMagic = "hearsay inputs 2\n";
inline constexpr std::size_t kChunkHeadBytes = 8;  // length and CRC-32C of what follows
inline constexpr std::size_t kChunkBytes = std::size_t{64} << 10;  // written at the latest then
inline constexpr std::size_t kMostChunkBytes = std::size_t{64} << 20;

enum class Kind : std::uint8_t {
  head = 1,  // JSON, the first entry of a file
  start,
  step_done,
  frame,         // a header as on the wire, then votes, pulses and sketches
  frame_values,  // the same, of one that came with values
  timer,
  peer_down,
  stop,
  trained,
  hostile,
  digests,
};

inline void put(std::vector<std::byte>& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
  out.push_back(static_cast<std::byte>(value));
}
inline void put_bytes(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}
inline void put_text(std::vector<std::byte>& out, std::string_view text) {
  put(out, text.size());
  put_bytes(out, std::as_bytes(std::span(text)));
}

// Reads on from where it is; `ok` turns false, and stays so, where the bytes end too early.
struct Source {
  std::span<const std::byte> rest;
  bool ok = true;

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest.empty()) break;
      const auto byte = std::to_integer<std::uint64_t>(rest.front());
      rest = rest.subspan(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok = false;
    return 0;
  }
  std::span<const std::byte> bytes(std::uint64_t count) {
    if (count > rest.size()) {
      ok = false;
      return {};
    }
    const auto taken = rest.first(static_cast<std::size_t>(count));
    rest = rest.subspan(static_cast<std::size_t>(count));
    return taken;
  }
  std::string text() {
    const auto taken = bytes(number());
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  double real() {
    std::uint64_t bits = 0;
    const auto taken = bytes(sizeof bits);
    if (ok) std::memcpy(&bits, taken.data(), sizeof bits);
    return std::bit_cast<double>(bits);
  }
};

}  // namespace hearsay::runtime::journal
