// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace hearsay::runtime {
namespace {

std::string value_of(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

}  // namespace

bool speaks_utf8(const Environment& environment) {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = value_of(environment, name);
    if (locale.empty()) continue;
    std::erase(locale, '-');
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return locale.find("utf8") != std::string::npos;
  }
  return false;
}

bool may_redraw(int fd, const Environment& environment) {
  const std::string term = value_of(environment, "TERM");
  return ::isatty(fd) == 1 && value_of(environment, "NO_COLOR").empty() && !term.empty() &&
         term != "dumb";
}

bool takes_text(int fd, int timeout_ms) {
  pollfd one{fd, POLLOUT, 0};
  return ::poll(&one, 1, timeout_ms) == 1 && (one.revents & POLLOUT) != 0;
}

WindowSize window_size(int fd) {
  winsize size{};
  WindowSize window;
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col > 0) window.columns = size.ws_col;
    if (size.ws_row > 0) window.rows = size.ws_row;
  }
  return window;
}

}  // namespace hearsay::runtime
