// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/gzip_stream.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 30;  // zlib counts in 32 bits
constexpr int kGzipWindowBits = 15 + 16;                   // largest window; 16 = gzip wrapper only

uInt piece(std::size_t bytes) { return static_cast<uInt>(std::min(bytes, kPieceBytes)); }

}  // namespace

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

GzipStream::GzipStream(std::string path, std::span<const std::uint8_t> bytes)
    : path_(std::move(path)), bytes_(bytes) {
  stream_.next_in = const_cast<Bytef*>(bytes_.data());  // zlib only reads it
  const int status = inflateInit2(&stream_, kGzipWindowBits);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  HS_CHECK(status == Z_OK);
}

GzipStream::~GzipStream() { inflateEnd(&stream_); }

std::size_t GzipStream::consumed() const {
  return static_cast<std::size_t>(stream_.next_in - bytes_.data());
}

void GzipStream::feed() {
  if (stream_.avail_in == 0) stream_.avail_in = piece(bytes_.size() - consumed());
}

void GzipStream::check(int status, bool moved) const {
  using kernels::DamagedFile;
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status == Z_NEED_DICT) {
    throw DamagedFile(path_, consumed(), "gzip data asks for a dictionary");
  }
  if (status == Z_DATA_ERROR) {
    const std::string why = stream_.msg ? stream_.msg : "unknown";
    throw DamagedFile(path_, consumed(), "gzip data is damaged (" + why + ")");
  }
  HS_CHECK(status == Z_OK || status == Z_BUF_ERROR);
  if (!moved) throw DamagedFile(path_, bytes_.size(), "gzip data is truncated");
}

std::size_t GzipStream::read(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size() && !ended_) {
    feed();
    const std::size_t before = consumed();
    const uInt room = piece(out.size() - done);
    stream_.next_out = out.data() + done;
    stream_.avail_out = room;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t written = room - stream_.avail_out;
    done += written;
    if (status != Z_STREAM_END) {
      check(status, written > 0 || consumed() > before);
    } else if (consumed() == bytes_.size()) {
      ended_ = true;
    } else {
      HS_CHECK(inflateReset(&stream_) ==
               Z_OK);  // another member, or garbage that inflate() will refuse
    }
  }
  return done;
}

}  // namespace hearsay::runtime
