// SPDX-License-Identifier: Apache-2.0
// The front binary. Everything is in command.cpp, so that tests can call it.
#include <fcntl.h>

#include "runtime/app/command.hpp"

namespace {

// A closed standard stream would hand its number to the next file that is opened, and messages
// would end up in a log. What takes its place still fails when used, so that a lost result is
// noticed.
void open_closed_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_closed_streams();
  return hearsay::runtime::run_command_line({argv + (argc > 0 ? 1 : 0), argv + argc});
}
