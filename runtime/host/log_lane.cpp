// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/log_lane.hpp"

#include <utility>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {

LogLane::LogLane(EventWriter& writer) : writer_(writer), thread_([this] { run(); }) {}

LogLane::~LogLane() { close(); }

void LogLane::write(gossip::Time t, std::string_view peer, const gossip::Event& event) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return waiting_.size() < kMostWaiting || failure_ || closing_; });
  if (failure_ || closing_) return;
  waiting_.push_back({t, std::string(peer), event});
  work_.notify_one();
}

std::optional<std::string> LogLane::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void LogLane::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) thread_.join();
}

// Events of one wake-up are written together and then flushed: a killed peer's log ends with what
// it did last, and an event costs no system call of its own when many come at once.
void LogLane::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    std::deque<Line> lines = std::exchange(waiting_, {});
    const bool last = closing_;
    room_.notify_all();
    lock.unlock();
    std::optional<std::string> failure;
    try {
      write_all(lines);
      if (last) writer_.close();
    } catch (const kernels::Fault& fault) {
      failure = fault.what();
    }
    lock.lock();
    if (failure && !failure_) failure_ = std::move(failure);
    if (last) return;
  }
}

void LogLane::write_all(std::deque<Line>& lines) {
  if (lines.empty() || failure()) return;
  for (const Line& line : lines) writer_.write(line.t, line.peer, line.event);
  writer_.flush();
}

}  // namespace hearsay::runtime
