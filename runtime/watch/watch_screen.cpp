// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/watch_screen.hpp"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "runtime/app/signals.hpp"
#include "runtime/app/terminal.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\r\n\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H", kClearRest = "\x1b[K", kClearBelow = "\x1b[J";
constexpr int kPatience_ms = 100;  // with a stream that somebody made non-blocking

// What a signal handler needs to put the terminal back.
struct Saved {
  int out = -1, in = -1;
  termios modes{};
} saved;

void write_text(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN && takes_text(fd, kPatience_ms)) {
      continue;
    } else if (errno != EINTR) {
      return;
    }
  }
}

// Only what a signal handler may do.
void put_back() {
  if (saved.out >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(saved.out, kLeave.data(), kLeave.size());
  }
  if (saved.in >= 0) ::tcsetattr(saved.in, TCSANOW, &saved.modes);
}

}  // namespace

WatchScreen::WatchScreen(int out, int in) : out_(out), in_(in) {
  has_keys_ = ::isatty(in_) == 1 && ::tcgetattr(in_, &saved.modes) == 0;
  saved.out = out_;
  if (has_keys_) {
    saved.in = in_;
    termios modes = saved.modes;
    modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    modes.c_cc[VMIN] = 0;
    modes.c_cc[VTIME] = 0;
    modes.c_cc[VSUSP] = _POSIX_VDISABLE;  // a shell would get the alternate screen
    ::tcsetattr(in_, TCSANOW, &modes);
  }
  before_leaving_at_once(put_back);
  write_text(out_, kEnter);
}

WatchScreen::~WatchScreen() {
  put_back();
  before_leaving_at_once(nullptr);
  saved.out = saved.in = -1;
}

void WatchScreen::show(const std::vector<StyledLine>& lines) {
  if (!takes_text(out_, 0)) return;
  std::string frame(kHome);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) frame += "\r\n";
    frame += lines[i].ansi();
    frame += kClearRest;
  }
  frame += kClearBelow;
  write_text(out_, frame);
}

bool WatchScreen::wait_for_quit(std::chrono::milliseconds at_most) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + at_most;
  while (stop_signal() == 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    pollfd key{in_, POLLIN, 0};
    if (::poll(&key, has_keys_ ? 1 : 0, static_cast<int>(left.count())) <= 0) continue;
    std::array<char, 64> keys{};
    const ssize_t got = ::read(in_, keys.data(), keys.size());
    if (got <= 0) return true;  // nobody is there any more
    const std::string_view typed(keys.data(), static_cast<std::size_t>(got));
    if (typed == "q" || typed == "Q") return true;  // part of no escape sequence
  }
  return false;
}

}  // namespace hearsay::runtime
