// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/png.hpp"

#include <zlib.h>

#include <vector>

#include "tests/catch.hpp"

namespace hearsay::runtime::report {
namespace {

std::uint32_t u32_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<std::uint8_t>(bytes.at(at + i));
  return value;
}

}  // namespace

TEST_CASE("a grey picture is a PNG whose chunks have their sums, and unpacks to its pixels") {
  const std::vector<std::uint8_t> pixels{0, 10, 20, 250, 255, 128};
  const std::string png = grey_png(pixels, 2, 3);
  REQUIRE(png.substr(0, 8) == std::string("\x89PNG\r\n\x1a\n", 8));
  std::string packed;
  std::vector<std::string> types;
  for (std::size_t at = 8; at < png.size();) {
    const std::uint32_t length = u32_at(png, at);
    const std::string body = png.substr(at + 4, 4 + length);
    CHECK(u32_at(png, at + 8 + length) ==
          crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
    types.push_back(body.substr(0, 4));
    if (types.back() == "IHDR") {
      CHECK(u32_at(body, 4) == 3);
      CHECK(u32_at(body, 8) == 2);
    }
    if (types.back() == "IDAT") packed = body.substr(4);
    at += 12 + length;
  }
  CHECK(types == std::vector<std::string>{"IHDR", "IDAT", "IEND"});
  std::vector<Bytef> lines(64);
  uLongf size = lines.size();
  REQUIRE(uncompress(lines.data(), &size, reinterpret_cast<const Bytef*>(packed.data()),
                     static_cast<uLong>(packed.size())) == Z_OK);
  lines.resize(size);
  CHECK(lines == std::vector<Bytef>{0, 0, 10, 20, 0, 250, 255, 128});
  CHECK(grey_png({}, 0, 0).empty());
}

TEST_CASE("base64 is that of RFC 4648") {
  const std::pair<const char*, const char*> kVectors[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"}};
  for (const auto& [text, coded] : kVectors) CHECK(base64(text) == coded);
  CHECK(base64("\xff\xfe\xfd") == "//79");
}

}  // namespace hearsay::runtime::report
