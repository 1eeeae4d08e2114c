// SPDX-License-Identifier: Apache-2.0
// Writes events.jsonl: the header line, then one JSON object a line with `ev`, `t_ns`, `peer`, `n`
// and the event's own fields in order. Invariant: the file holds whole lines only, also after a
// full disk; `n` of a peer has no gap; one writer a file, held by a lock that dies with the
// process. Lane: log. Cost: formatting into a 64 KiB buffer, one write(2) when it is full.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "gossip/event.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {

inline constexpr std::int64_t kEventSchema = 1;

// Where a log stands, to go on from there.
struct LogPosition {
  std::size_t bytes = 0;
  std::map<std::string, std::uint64_t, std::less<>> next_n;  // [peer] number of its next line
};

// Whether some process writes this log.
bool log_is_held(const std::string& path);

class EventWriter {
 public:
  // Makes `<run_dir>/events.jsonl`. Throws UsageError when it cannot be opened or already holds
  // lines.
  explicit EventWriter(const std::string& run_dir);
  // Goes on with a log that is there: cuts off what stands behind `from`. Throws DamagedFile when
  // the log does not reach that far or no line ends there.
  EventWriter(const std::string& run_dir, const LogPosition& from);
  EventWriter(EventWriter&&) = delete;
  ~EventWriter();  // closes; whoever wants to know of a late error calls close() first

  // Must be the first line. The event is named run.started; `schema` is added here.
  void write_header(const gossip::Event& run_started);
  // `event` has no field named ev, t_ns, peer or n. All three throw a Fault (exit 1) when the file
  // cannot take the bytes; the file then ends with its last whole line and every later call but
  // close() throws the same Fault.
  void write(std::chrono::nanoseconds t, std::string_view peer, const gossip::Event& event);
  void flush();
  // The end of what was written, after a flush and a sync: what a checkpoint refers to.
  LogPosition synced_position();
  void close();  // flush, sync, close. A second call, or one after a Fault, does nothing.

  const std::string& path() const noexcept { return path_; }
  std::size_t written_bytes() const noexcept {
    return written_bytes_;
  }  // in the file, without the buffer

 private:
  void open(int flags);
  void append_fields(const gossip::Event& event);
  void end_line();
  [[noreturn]] void fail(int error);

  std::string path_;
  FileHandle file_;
  std::string buffer_;             // whole lines, except while one is being formatted
  std::size_t written_bytes_ = 0;  // always at the end of a line
  std::map<std::string, std::uint64_t, std::less<>> next_n_;
  std::string failure_;  // the line of the Fault, once there was one
  bool has_header_ = false;
};

}  // namespace hearsay::runtime
