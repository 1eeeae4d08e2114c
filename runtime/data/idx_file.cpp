// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/idx_file.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/data/gzip_stream.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::uint8_t kTypeUnsignedByte = 0x08;
constexpr std::size_t kFirstPieceBytes = 64 * 1024;

// The content of the file as a stream, whichever way it is stored.
class Content {
 public:
  Content(const std::string& path, std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    if (is_gzip(bytes)) gzip_.emplace(path, bytes);
  }

  bool packed() const { return gzip_.has_value(); }

  // No content can be longer than this; exact for a plain file.
  std::uint64_t most_bytes() const {
    return std::uint64_t{bytes_.size()} * (packed() ? kDeflateMaxRatio : 1);
  }

  std::size_t read(std::span<std::uint8_t> out) {
    if (gzip_) return gzip_->read(out);
    const std::size_t n = std::min(out.size(), bytes_.size() - position_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(position_), n, out.begin());
    position_ += n;
    return n;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t position_ = 0;
  std::optional<GzipStream> gzip_;
};

std::size_t big_endian_u32(std::span<const std::uint8_t, 4> b) {
  return std::size_t{b[0]} << 24 | std::size_t{b[1]} << 16 | std::size_t{b[2]} << 8 | b[3];
}

// Reads magic and sizes into file.dims and returns how many values they promise.
std::uint64_t read_header(Content& content, IdxFile& file, std::size_t dimensions) {
  std::array<std::uint8_t, 4> word{};
  const auto next_word = [&](std::size_t offset) {
    const std::size_t got = content.read(word);
    if (offset + got == 0) file.damaged(0, "the file is empty");
    if (got < word.size()) file.damaged(offset + got, "truncated in the IDX header");
  };
  next_word(0);
  if (word[0] != 0 || word[1] != 0) {
    file.damaged(0, "not an IDX file (it must start with two zero bytes)");
  }
  if (word[2] != kTypeUnsignedByte) {
    file.damaged(2, "IDX type " + std::to_string(word[2]) + ", expected 8 (unsigned bytes)");
  }
  if (word[3] != dimensions) {
    file.damaged(3, "IDX file of " + std::to_string(word[3]) + " dimensions, expected " +
                        std::to_string(dimensions));
  }
  std::uint64_t values = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t offset = 4 + 4 * i;
    next_word(offset);
    const std::size_t size = big_endian_u32(word);
    if (size == 0) file.damaged(offset, "a dimension of size 0");
    if (values > kMaxIdxValues / size) {
      file.damaged(offset,
                   "the dimensions promise more than " + std::to_string(kMaxIdxValues) + " values");
    }
    values *= size;
    file.dims.push_back(size);
  }
  return values;
}

// Takes memory as the content arrives, never ahead of it by more than it has already delivered.
void read_values(Content& content, IdxFile& file, std::size_t promised) {
  auto& values = file.values;
  while (values.size() < promised) {
    const std::size_t before = values.size();
    values.resize(std::min(promised, std::max(2 * before, kFirstPieceBytes)));
    const std::size_t got = content.read(std::span(values).subspan(before));
    if (before + got < values.size()) {
      file.damaged(file.header_bytes() + before + got,
                   "truncated: the header promises " + std::to_string(promised) +
                       " values, there are " + std::to_string(before + got));
    }
  }
  std::array<std::uint8_t, 1> extra{};
  if (content.read(extra) != 0) {
    file.damaged(file.header_bytes() + promised, "bytes behind the " + std::to_string(promised) +
                                                     " values that the header promises");
  }
}

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw kernels::UsageError(path.string() + ": no such file (--data)");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw kernels::UsageError(path.string() + ": cannot be opened; check its permissions");
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw kernels::UsageError(path.string() + ": " + error.message());
  std::vector<std::uint8_t> bytes(size);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  const auto got = static_cast<std::size_t>(in.gcount());
  if (got != size) {
    throw kernels::DamagedFile(path.string(), got, "reading stopped before the end of the file");
  }
  return bytes;
}

}  // namespace

void IdxFile::damaged(std::size_t offset_bytes, const std::string& what) const {
  throw kernels::DamagedFile(path, offset_bytes,
                             packed ? what + " (offset in the unpacked content)" : what);
}

IdxFile decode_idx(const std::string& path, std::span<const std::uint8_t> bytes,
                   std::size_t dimensions) {
  HS_CHECK(dimensions >= 1 && dimensions <= 4);
  Content content(path, bytes);
  IdxFile file{path, content.packed(), {}, {}};
  const std::uint64_t promised = read_header(content, file, dimensions);
  if (promised + file.header_bytes() > content.most_bytes()) {
    if (!file.packed) {
      file.damaged(bytes.size(), "truncated: the header promises " + std::to_string(promised) +
                                     " values, there are " +
                                     std::to_string(bytes.size() - file.header_bytes()));
    }
    file.damaged(4, "the header promises " + std::to_string(promised) + " values, more than " +
                        std::to_string(bytes.size()) + " bytes of gzip can hold");
  }
  read_values(content, file, static_cast<std::size_t>(promised));
  return file;
}

IdxFile read_idx(const std::filesystem::path& path, std::size_t dimensions) {
  return decode_idx(path.string(), read_file(path), dimensions);
}

}  // namespace hearsay::runtime
