// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/png.hpp"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "kernels/core/check.hpp"

namespace hearsay::runtime::report {
namespace {

void add_u32(std::uint32_t value, std::string& out) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

// Length, type, data, CRC-32 of type and data.
void add_chunk(const std::string& type, const std::string& data, std::string& out) {
  add_u32(static_cast<std::uint32_t>(data.size()), out);
  const std::string body = type + data;
  out += body;
  const auto sum =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  add_u32(static_cast<std::uint32_t>(sum), out);
}

std::string deflated(const std::vector<Bytef>& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  const int result = compress2(reinterpret_cast<Bytef*>(out.data()), &size, bytes.data(),
                               static_cast<uLong>(bytes.size()), Z_BEST_COMPRESSION);
  HS_CHECK(result == Z_OK);
  out.resize(size);
  return out;
}

}  // namespace

std::string grey_png(std::span<const std::uint8_t> pixels, std::size_t rows, std::size_t cols) {
  HS_CHECK(pixels.size() == rows * cols);
  if (pixels.empty()) return {};
  std::string head;
  add_u32(static_cast<std::uint32_t>(cols), head);
  add_u32(static_cast<std::uint32_t>(rows), head);
  head += std::string("\x08\x00\x00\x00\x00", 5);  // 8 bits, grey, deflate, no interlacing
  std::vector<Bytef> lines;
  for (std::size_t row = 0; row < rows; ++row) {
    lines.push_back(0);  // no filter
    const auto line = pixels.subspan(row * cols, cols);
    lines.insert(lines.end(), line.begin(), line.end());
  }
  std::string out("\x89PNG\r\n\x1a\n", 8);
  add_chunk("IHDR", head, out);
  add_chunk("IDAT", deflated(lines), out);
  add_chunk("IEND", "", out);
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? static_cast<std::uint8_t>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i)
      out += i <= count ? kLetters[group >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace hearsay::runtime::report
