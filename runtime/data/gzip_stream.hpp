// SPDX-License-Identifier: Apache-2.0
// Unpacks a gzip file that lies in memory, piece by piece: the caller decides how much it is
// willing to hold, so a small file that unpacks to gigabytes costs no more than the buffer asked
// for. Checksums are verified by zlib when the end is reached. Several members in one file read as
// one (RFC 1952, 2.2). Input is not trusted.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hearsay::runtime {

// Deflate's best case: 258 bytes from two bits. No gzip file unpacks to more than this times its
// size.
inline constexpr std::size_t kDeflateMaxRatio = 1032;

bool is_gzip(std::span<const std::uint8_t> bytes);  // by magic number, whatever the file is called

class GzipStream {
 public:
  // `bytes` must outlive the stream; `path` is only named in messages.
  GzipStream(std::string path, std::span<const std::uint8_t> bytes);
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  // Fills `out` as far as the content goes and returns the number of bytes written; less than asked
  // for means that the content has ended and its checksum was right. Throws DamagedFile with the
  // offset in the packed file.
  std::size_t read(std::span<std::uint8_t> out);

 private:
  std::size_t consumed() const;  // packed bytes read so far
  void feed();
  void check(int status, bool moved) const;

  std::string path_;
  std::span<const std::uint8_t> bytes_;
  z_stream stream_{};
  bool ended_ = false;
};

}  // namespace hearsay::runtime
