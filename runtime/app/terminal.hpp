// SPDX-License-Identifier: Apache-2.0
// What the reader of a stream can show: redrawn lines or plain ones, UTF-8 or ASCII, how many
// columns. Reads the environment it is given and asks the kernel; any lane; cost: a system call.
#pragma once

#include "runtime/config/config.hpp"

namespace hearsay::runtime {

struct WindowSize {
  int columns = 80, rows = 24;
  friend bool operator==(const WindowSize&, const WindowSize&) = default;
};

// LC_ALL, LC_CTYPE or LANG, the first that is set, names UTF-8.
bool speaks_utf8(const Environment& environment);
// The stream is a terminal, NO_COLOR is not set (https://no-color.org: and not empty), TERM is not
// "dumb".
bool may_redraw(int fd, const Environment& environment);
// The stream takes some text now, or within that time.
bool takes_text(int fd, int timeout_ms);
// 80 x 24 where nobody knows.
WindowSize window_size(int fd);

}  // namespace hearsay::runtime
