// SPDX-License-Identifier: Apache-2.0
// The log lane: a thread that formats and writes a peer's events, so that a slow disk does not hold
// up mini-batches. Bounded: when kMostWaiting events wait, write() waits too, because a log with
// holes is worth nothing. Cost on the caller's side: one lock and a move per event.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/log/event_writer.hpp"
#include "runtime/seams/event_sink.hpp"

namespace hearsay::runtime {

class LogLane final : public EventSink {
 public:
  // `writer` has its header and outlives the lane; nobody else writes to it meanwhile.
  explicit LogLane(EventWriter& writer);
  ~LogLane() override;  // closes

  void write(gossip::Time t, std::string_view peer, const gossip::Event& event) override;
  // What the file system said when a line could not be kept; later events are thrown away.
  std::optional<std::string> failure() const;
  void close();  // returns when everything is on disk, or failed

 private:
  static constexpr std::size_t kMostWaiting = 4096;
  struct Line {
    gossip::Time t;
    std::string peer;
    gossip::Event event;
  };
  void run();
  void write_all(std::deque<Line>& lines);

  EventWriter& writer_;
  mutable std::mutex mutex_;
  std::condition_variable work_, room_;
  std::deque<Line> waiting_;
  std::optional<std::string> failure_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace hearsay::runtime
