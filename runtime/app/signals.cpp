// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/signals.hpp"

#include <unistd.h>
#include <csignal>

namespace hearsay::runtime {
namespace {

constexpr unsigned kCleanStopBudget_s = 10;

volatile std::sig_atomic_t first_signal = 0;

void on_signal(int signal) {
  if (first_signal != 0) _exit(128 + (signal == SIGALRM ? first_signal : signal));
  first_signal = signal;
  alarm(kCleanStopBudget_s);
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGALRM, &action, nullptr);
}

int stop_signal() { return first_signal; }

}  // namespace hearsay::runtime
