// SPDX-License-Identifier: Apache-2.0
// A terminal that shows one picture after the other on its alternate screen, and tells when
// somebody wants to leave. Invariant: whatever ends the program but SIGKILL, the terminal is as it
// was. Never waits for a terminal that takes nothing (Ctrl-S): that picture is left out. Lane: the
// viewer's; one at a time. Cost: one write of a few kilobytes a picture.
#pragma once

#include <chrono>
#include <vector>

#include "runtime/app/styled_line.hpp"

namespace hearsay::runtime {

class WatchScreen {
 public:
  // Keys come from `in`, if that is a terminal too.
  WatchScreen(int out, int in);
  ~WatchScreen();
  WatchScreen(const WatchScreen&) = delete;
  WatchScreen& operator=(const WatchScreen&) = delete;

  void show(const std::vector<StyledLine>& lines);
  bool has_keys() const noexcept { return has_keys_; }
  // Waits that long, less when q is pressed (true), a stop signal comes or the terminal goes away.
  bool wait_for_quit(std::chrono::milliseconds at_most);

 private:
  int out_, in_;
  bool has_keys_ = false;
};

}  // namespace hearsay::runtime
