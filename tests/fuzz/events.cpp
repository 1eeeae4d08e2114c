// SPDX-License-Identifier: Apache-2.0
// Event logs, whole, torn or damaged: the reader with its invariants, the search for the end, and
// what `hearsay watch` and `hearsay replay` make of the lines.
#include <algorithm>

#include "kernels/core/errc.hpp"
#include "runtime/log/event_reader.hpp"
#include "runtime/log/invariants.hpp"
#include "runtime/log/log_end.hpp"
#include "runtime/replay/log_comparison.hpp"
#include "runtime/watch/log_tail.hpp"
#include "runtime/watch/pool_track.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using namespace hearsay::runtime;
using fuzz::require;

namespace {

void check_log(const std::string& path, std::size_t size) {
  fuzz::decodes<kernels::DamagedFile, kernels::UsageError>([&] {
    const EventLog log = read_events(path);
    require(log.header.is_object(), "there is a header");
    require(!log.truncated || log.truncated_at_bytes < size, "the torn line is in the file");
    const ClockKind clock = log.virtual_clock() ? ClockKind::virtual_time : ClockKind::monotonic;
    require(broken_invariants(log.events, clock).size() <= 8 * (kMaxBreaches + 1),
            "breaches are counted, not all told");
  });
}

void check_end(const std::string& path, std::string_view text) {
  fuzz::decodes<kernels::DamagedFile, kernels::UsageError>([&] {
    const auto end = find_log_end(path, "p00");
    if (!end) return;
    const std::size_t bytes = end->position.bytes;
    require(bytes >= 1 && bytes <= text.size() && text[bytes - 1] == '\n', "a line ends there");
  });
}

void check_track(const std::string& path) {
  WatchedPool pool;
  PoolTrack track(pool);
  track.set_epochs(2.0);
  LogTail tail(path);
  const LogTail::Reader reader{[] {}, [&](std::string_view line) { track.take(line); }};
  while (tail.read(reader)) {
  }
  require(pool.losses.size() == pool.snapshot.peers.size(), "one row of losses a peer");
  require(pool.changes.size() <= WatchedPool::kMostChanges, "changes are bounded");
  for (const PeerView& view : pool.snapshot.peers) {
    require(view.status.progress >= 0.0 && view.status.progress <= 1.0, "progress is a share");
    require(view.status.newest_merges.size() <= PeerStatus::kNewestMerges, "merges are bounded");
  }
  pool.merges.lately(pool.snapshot.now.wall_s);
  track.running_on("n1");
  track.end_peer("p00", false, "exit code 3");
  track.begin_anew("p00");
}

// Held against itself a log differs in nothing but what is damaged.
void check_comparison(const std::string& path, std::string_view text) {
  LogComparison log(path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    log.compare(text.substr(begin, end - begin));
    begin = end + 1;
  }
  log.finish();
  require(log.differences().size() <= 6 && log.damage().size() <= 5, "lines told are few");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string& path = file.holding(text);
  check_log(path, size);
  check_end(path, text);
  check_track(path);
  check_comparison(path, text);
  return 0;
}
