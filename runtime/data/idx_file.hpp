// SPDX-License-Identifier: Apache-2.0
// Reader of IDX files (the format of MNIST), plain or gzip: two zero bytes, type 0x08 (unsigned
// bytes), the number of dimensions, one big-endian 32-bit size a dimension, then the values,
// slowest dimension first, and nothing behind. Input is not trusted: every size is checked before
// memory is taken, and a file that is not exactly what its header says is a DamagedFile with path
// and offset. Offsets count in the unpacked content unless the gzip layer is at fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace hearsay::runtime {

inline constexpr std::uint64_t kMaxIdxValues = 8'589'934'592;  // 8 GiB: refuse, do not swap

struct IdxFile {
  std::string path;
  bool packed = false;               // was gzip
  std::vector<std::size_t> dims;     // each >= 1, slowest first
  std::vector<std::uint8_t> values;  // as many as the product of dims

  std::size_t header_bytes() const noexcept { return 4 + 4 * dims.size(); }
  // Throws DamagedFile at an offset into the content.
  [[noreturn]] void damaged(std::size_t offset_bytes, const std::string& what) const;
};

// The file must have exactly `dimensions` dimensions. Throws UsageError when it cannot be opened,
// else DamagedFile. Peak memory: file size plus content size.
IdxFile read_idx(const std::filesystem::path& path, std::size_t dimensions);

// The same for bytes in memory; `path` is only named in messages.
IdxFile decode_idx(const std::string& path, std::span<const std::uint8_t> bytes,
                   std::size_t dimensions);

}  // namespace hearsay::runtime
