// SPDX-License-Identifier: Apache-2.0
// A grey picture of 8 bits a pixel as a PNG (RFC 2083), and any bytes as base64 (RFC 4648), for
// pictures that stand inside a page. Pure. Cost: one deflate; an image of 28 by 28 is some 700 B.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hearsay::runtime::report {

// pixels[rows * cols], row-major, 0 black. Empty for no pixels.
std::string grey_png(std::span<const std::uint8_t> pixels, std::size_t rows, std::size_t cols);
std::string base64(std::string_view bytes);

}  // namespace hearsay::runtime::report
