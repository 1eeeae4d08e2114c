// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/pool_view.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "runtime/app/pool_numbers.hpp"
#include "runtime/app/pool_table.hpp"
#include "runtime/app/terminal.hpp"

namespace hearsay::runtime {
namespace {

constexpr const char *kWrapOff = "\x1b[?7l", *kWrapOn = "\x1b[?7h";
constexpr const char *kClearRest = "\x1b[K", *kClearBelow = "\x1b[J";
constexpr int kPatience_ms = 100;  // with a stream that somebody made non-blocking

std::function<double()> stopwatch() {
  const auto start = std::chrono::steady_clock::now();
  return [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
}

}  // namespace

PoolView::PoolView(Options options) : options_(std::move(options)) {
  if (!options_.seconds) options_.seconds = stopwatch();
}

PoolView::Options PoolView::options_for(bool quiet, const Environment& environment) {
  Options options;
  options.utf8 = speaks_utf8(environment);
  options.mode = quiet                                 ? Mode::silent
                 : may_redraw(options.fd, environment) ? Mode::terminal
                                                       : Mode::plain;
  return options;
}

void PoolView::update(const std::vector<PeerView>& peers) {
  if (options_.mode == Mode::silent) return;
  losses_.resize(peers.size());
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const PeerStatus& status = peers[i].status;
    const bool is_new = i >= peers_.size() || status.samples != peers_[i].status.samples;
    if (is_new && has_trained(status)) losses_[i].add(status.progress, status.loss);
  }
  peers_ = peers;
  if (options_.mode == Mode::terminal) {
    redraw();
  } else if (options_.seconds() >= next_line_s_) {
    print_line();
  }
}

void PoolView::notice(const std::string& text) {
  const std::string line = "[" + clock_text(options_.seconds()) + "] " + printable(text);
  if (options_.mode == Mode::plain) write_all(line + "\n");
  if (options_.mode != Mode::terminal) return;
  if (pending_.size() < kMostPending) {
    pending_.push_back(line);
  } else {
    ++unsaid_;
  }
  redraw();
}

void PoolView::print_line() {
  const double now_s = options_.seconds(), left_s = seconds_left(peers_);
  next_line_s_ = now_s + kInterval_s;
  std::string line =
      "[" + clock_text(now_s) + "] " + progress_line(numbers_of(peers_, now_), options_.utf8);
  if (const std::string target = target_text(now_); !target.empty()) line += "  " + target;
  if (left_s >= 0.0) line += "  left " + clock_text(left_s);
  write_all(line + "\n");
}

// Terminals break lines again that have become too long when their window gets narrower, and the
// cursor stays with its text. The few that cut them off lose some lines above the table instead.
int PoolView::lines_up(int columns, int rows) const {
  int up = 0;
  for (const int drawn : drawn_) up += std::max(1, (drawn + columns - 1) / columns);
  return std::min(up, rows - 1);
}

void PoolView::redraw() {
  if (!takes_text(options_.fd, 0)) return;
  const auto [columns, rows] = window_size(options_.fd);
  // A line as long as the window would leave the cursor in its last column, where terminals differ.
  const int width = std::max(columns - 1, 1);
  if (unsaid_ > 0) pending_.push_back("and " + std::to_string(unsaid_) + " more notices");
  std::string frame = std::string(kWrapOff) + "\r";
  if (const int up = lines_up(columns, rows); up > 0) frame += "\x1b[" + std::to_string(up) + "A";
  for (const std::string& notice : pending_) {
    for (const std::string& line : broken_into(notice, width)) frame += line + kClearRest + "\r\n";
  }
  drawn_.clear();
  const PoolPicture picture{peers_, losses_, options_.seconds(), options_.utf8, now_};
  // One row is the cursor's.
  if (!peers_.empty()) {
    for (const StyledLine& line : draw_pool(picture, width, std::max(rows - 1, 1))) {
      frame += line.ansi() + kClearRest + "\r\n";
      drawn_.push_back(columns_of(line.plain()));
    }
  }
  frame += std::string(kClearBelow) + kWrapOn;
  pending_.clear();
  unsaid_ = 0;
  write_all(frame);
}

void PoolView::write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(options_.fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN && takes_text(options_.fd, kPatience_ms)) {
      continue;
    } else if (errno != EINTR) {
      // A stream that is gone stays gone; a pool does not end because nobody watches it.
      if (errno != EAGAIN) options_.mode = Mode::silent;
      return;
    }
  }
}

}  // namespace hearsay::runtime
