// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/thaw_guard.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace hearsay::runtime {
namespace {

// In the guard's process; only calls that are safe in a child of a process with threads.
[[noreturn]] void guard(int alive, int pidfd) {
  setsid();  // whoever kills the watcher's process group does not mean the guard
  // Nothing else stays open: guards of other peers wait for the ends of their pipes.
  const int frozen = fcntl(pidfd, F_DUPFD, 10), end = fcntl(alive, F_DUPFD, 10);
  dup2(end, 3);
  dup2(frozen, 4);
  for (const int standard : {0, 1, 2}) close(standard);
  syscall(SYS_close_range, 5u, ~0u, 0u);
  char byte = 0;
  while (read(3, &byte, 1) < 0 && errno == EINTR) {
  }
  syscall(SYS_pidfd_send_signal, 4, SIGCONT, nullptr, 0);
  _exit(0);
}

}  // namespace

ThawGuard::ThawGuard(int pidfd) {
  std::array<int, 2> pipe_ends{};
  if (pidfd < 0 || pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return;
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);  // the guard inherits the mask: nothing else ends it
  pid_ = fork();
  if (pid_ == 0) guard(pipe_ends[0], pidfd);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(pipe_ends[0]);
  alive_ = pipe_ends[1];
}

ThawGuard::~ThawGuard() {
  if (alive_ >= 0) close(alive_);
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace hearsay::runtime
