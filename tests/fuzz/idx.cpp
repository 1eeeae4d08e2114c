// SPDX-License-Identifier: Apache-2.0
// Data files in IDX format, plain and gzip, with one dimension (labels) and three (images).
#include <numeric>

#include "kernels/core/errc.hpp"
#include "runtime/data/gzip_stream.hpp"
#include "runtime/data/idx_file.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using namespace hearsay::runtime;
using fuzz::require;

namespace {

constexpr std::size_t kMostUnpacked = std::size_t{1} << 20;

void check_idx(std::span<const std::uint8_t> bytes, std::size_t dimensions) {
  fuzz::decodes<kernels::DamagedFile>([&] {
    const IdxFile file = decode_idx("input", bytes, dimensions);
    require(file.dims.size() == dimensions, "there are as many dimensions as asked for");
    const std::size_t product = std::accumulate(file.dims.begin(), file.dims.end(), std::size_t{1},
                                                std::multiplies<std::size_t>());
    require(product == file.values.size(), "there are as many values as the dimensions say");
    require(file.packed || file.header_bytes() + product == bytes.size(), "no byte is left over");
  });
}

// As a caller that holds no more than a bounded piece at a time.
void check_gzip(std::span<const std::uint8_t> bytes) {
  fuzz::decodes<kernels::DamagedFile>([&] {
    GzipStream stream("input", bytes);
    std::vector<std::uint8_t> piece(bytes.size() % 251 + 1);
    std::size_t total = 0, got = piece.size();
    while (got == piece.size() && total < kMostUnpacked) {
      got = stream.read(piece);
      require(got <= piece.size(), "no more than asked for");
      total += got;
    }
    require(total <= bytes.size() * kDeflateMaxRatio, "deflate's best ratio bounds the content");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(data, size);
  check_idx(bytes, 1);
  check_idx(bytes, 3);
  if (is_gzip(bytes)) check_gzip(bytes);
  return 0;
}
