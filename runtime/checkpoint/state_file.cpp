// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/state_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "kernels/core/digest.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/log/json_nesting.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;
using kernels::DamagedFile;

constexpr std::string_view kSealBegin = ",\"digest\":\"", kSealEnd = "\"}\n";
constexpr std::size_t kHexDigits = 16;
constexpr std::size_t kSealBytes = kSealBegin.size() + kHexDigits + kSealEnd.size();

std::uint64_t digest_of(std::string_view bytes) {
  return kernels::digest64({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

std::string hex(std::uint64_t digest) {
  char text[kHexDigits + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

bool from_hex(const std::string& text, std::uint64_t& digest) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, digest, 16);
  return text.size() == kHexDigits && error == std::errc() && stop == end && text == hex(digest);
}

struct OpenFile {
  FileHandle handle;
  std::size_t bytes = 0;
};

OpenFile open_to_read(const std::string& path) {
  OpenFile file{open_file(path, O_RDONLY | O_NONBLOCK), 0};
  if (!file.handle.is_open()) {
    if (errno == ENOENT) throw DamagedFile(path, 0, "the file is missing");
    throw kernels::UsageError(path + ": " + error_text(errno));
  }
  struct stat status {};
  if (::fstat(file.handle.get(), &status) != 0)
    throw kernels::UsageError(path + ": " + error_text(errno));
  if (!S_ISREG(status.st_mode)) throw DamagedFile(path, 0, "is not a file");
  file.bytes = static_cast<std::size_t>(status.st_size);
  return file;
}

void read_exactly(const std::string& path, const OpenFile& file, std::span<char> bytes,
                  std::size_t offset_bytes) {
  const std::ptrdiff_t moved = read_at(file.handle.get(), bytes, offset_bytes);
  if (moved < 0) throw DamagedFile(path, offset_bytes, error_text(errno));
  if (static_cast<std::size_t>(moved) < bytes.size())
    throw DamagedFile(path, offset_bytes + static_cast<std::size_t>(moved), "the file ends here");
}

}  // namespace

void FileDigests::add(std::string_view bytes) {
  for (std::size_t begin = 0; begin < bytes.size(); begin += kDigestPieceBytes) {
    const std::string_view piece = bytes.substr(begin, kDigestPieceBytes);
    pieces.push_back({piece.size(), digest_of(piece)});
  }
}

std::size_t FileDigests::bytes() const {
  std::size_t sum = 0;
  for (const Piece& piece : pieces) sum += piece.bytes;
  return sum;
}

std::string sealed_text(const Json& object) {
  std::string text = object.dump();
  text.pop_back();  // the brace
  const std::string digest = hex(digest_of(text));
  return text.append(kSealBegin).append(digest).append(kSealEnd);
}

Json read_sealed(const std::string& path) {
  const OpenFile file = open_to_read(path);
  if (file.bytes < kSealBytes) throw DamagedFile(path, file.bytes, "the file ends too early");
  std::string text(file.bytes, '\0');
  read_exactly(path, file, text, 0);
  const std::size_t end = text.size() - kSealBytes;
  std::uint64_t digest = 0;
  if (text.compare(end, kSealBegin.size(), kSealBegin) != 0 || !text.ends_with(kSealEnd) ||
      !from_hex(text.substr(end + kSealBegin.size(), kHexDigits), digest))
    throw DamagedFile(path, end, "the file does not end with the digest of its text");
  if (digest_of(std::string_view(text).substr(0, end)) != digest) {
    throw DamagedFile(
        path, 0,
        "the " + std::to_string(end) + " bytes from here do not have the digest at the end");
  }
  text.resize(end);
  if (nests_too_deeply(text)) throw DamagedFile(path, 0, "is nested too deeply");
  try {
    return Json::parse(text += '}');
  } catch (const Json::parse_error& error) {
    throw DamagedFile(path, error.byte > 0 ? error.byte - 1 : 0, "is not JSON");
  } catch (const Json::exception&) {
    throw DamagedFile(path, 0, "holds a number that is out of range");
  }
}

Json to_json(const std::vector<FileDigests>& files) {
  Json list = Json::array();
  for (const FileDigests& file : files) {
    Json pieces = Json::array();
    for (const FileDigests::Piece& piece : file.pieces)
      pieces.push_back(Json::array({piece.bytes, hex(piece.digest)}));
    list.push_back({{"name", file.name}, {"bytes", file.bytes()}, {"xxh3", std::move(pieces)}});
  }
  return list;
}

std::vector<FileDigests> files_from_json(const std::string& path, const Json& json) {
  const auto expect = [&](bool fits) {
    if (!fits) throw DamagedFile(path, 0, "'files' is missing or no list of files");
  };
  expect(json.is_array());
  std::vector<FileDigests> files;
  for (const Json& entry : json) {
    expect(entry.is_object() && entry.contains("name") && entry["name"].is_string() &&
           entry.contains("xxh3") && entry["xxh3"].is_array());
    FileDigests file{entry["name"].get<std::string>(), {}};
    expect(!file.name.empty() && file.name.front() != '.' &&
           file.name.find('/') == std::string::npos);
    for (const Json& pair : entry["xxh3"]) {
      expect(pair.is_array() && pair.size() == 2 && pair[0].is_number_unsigned() &&
             pair[1].is_string());
      FileDigests::Piece piece{pair[0].get<std::size_t>(), 0};
      expect(piece.bytes >= 1 && piece.bytes <= kDigestPieceBytes &&
             from_hex(pair[1].get<std::string>(), piece.digest));
      file.pieces.push_back(piece);
    }
    files.push_back(std::move(file));
  }
  return files;
}

void check_file(const std::string& path, const FileDigests& digests) {
  const OpenFile file = open_to_read(path);
  std::string buffer;
  std::size_t offset_bytes = 0;
  for (const FileDigests::Piece& piece : digests.pieces) {
    buffer.resize(piece.bytes);
    read_exactly(path, file, buffer, offset_bytes);
    if (digest_of(buffer) != piece.digest) {
      throw DamagedFile(
          path, offset_bytes,
          "the " + std::to_string(piece.bytes) + " bytes from here do not have their digest");
    }
    offset_bytes += piece.bytes;
  }
  if (file.bytes > offset_bytes) {
    throw DamagedFile(path, offset_bytes,
                      std::to_string(file.bytes - offset_bytes) + " bytes too many at the end");
  }
}

}  // namespace hearsay::runtime
