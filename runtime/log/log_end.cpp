// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/log_end.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kPieceBytes = 64 << 10;

// Of a whole line without its newline: number and time when it is one of this peer's, or the
// header.
bool read_line(std::string_view line, const std::string& peer, LogEnd& tail) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return false;
  const auto is = [&](const char* key, const std::string& text) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() && *found == text;
  };
  if (is("ev", "run.started")) return true;
  const auto n = object.find("n"), t = object.find("t_ns");
  if (!is("peer", peer) || n == object.end() || t == object.end() || !n->is_number_unsigned() ||
      !t->is_number_integer())
    return false;
  tail.position.next_n[peer] = n->get<std::uint64_t>() + 1;
  tail.last_t = std::chrono::nanoseconds(t->get<std::int64_t>());
  return true;
}

}  // namespace

std::optional<LogEnd> find_log_end(const std::string& path, const std::string& peer) {
  const FileHandle file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file.is_open()) {
    if (errno == ENOENT) return std::nullopt;
    throw kernels::UsageError("event log " + path + ": " + error_text(errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    throw kernels::UsageError("event log " + path + ": " + error_text(errno));
  const auto size = static_cast<std::size_t>(status.st_size);
  std::string text;  // the last bytes of the file
  std::size_t begin = size;
  std::size_t newline = std::string::npos;  // behind the line that is tried next, in the file
  for (;;) {
    // The line before `newline` needs the newline before it, or the beginning of the file.
    const std::size_t end = newline == std::string::npos ? text.size() : newline - begin;
    const std::size_t before =
        end == 0 ? std::string::npos : std::string_view(text).substr(0, end).rfind('\n');
    if (newline != std::string::npos && (before != std::string::npos || begin == 0)) {
      const std::size_t first = before == std::string::npos ? 0 : before + 1;
      LogEnd tail;
      tail.position.bytes = newline + 1;
      if (read_line(std::string_view(text).substr(first, end - first), peer, tail)) return tail;
    }
    if (before != std::string::npos) {
      newline = begin + before;
      continue;
    }
    if (begin == 0) return std::nullopt;
    if (size - begin >= kMostTornBytes)
      throw kernels::DamagedFile(path, begin, "no line from here on is one of " + peer);
    const std::size_t piece = std::min(begin, kPieceBytes);
    std::string more(piece, '\0');
    if (read_at(file.get(), more, begin - piece) != static_cast<std::ptrdiff_t>(piece))
      throw kernels::DamagedFile(path, begin - piece, "cannot be read");
    text.insert(0, more);
    begin -= piece;
  }
}

}  // namespace hearsay::runtime
