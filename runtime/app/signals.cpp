// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/signals.hpp"

#include <unistd.h>
#include <atomic>
#include <csignal>

namespace hearsay::runtime {
namespace {

constexpr unsigned kCleanStopBudget_s = 10;

volatile std::sig_atomic_t first_signal = 0;
std::atomic<void (*)()> last_action{nullptr};

void on_signal(int signal) {
  if (first_signal != 0) {
    if (void (*const action)() = last_action.load()) action();
    _exit(128 + (signal == SIGALRM ? first_signal : signal));
  }
  first_signal = signal;
  alarm(kCleanStopBudget_s);
}

void on_watcher_death(int) {
  if (first_signal == 0) on_signal(SIGTERM);
}

volatile std::sig_atomic_t checkpoint_asked = 0;

void on_checkpoint_signal(int) { checkpoint_asked = 1; }

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGALRM, &action, nullptr);
}

void catch_checkpoint_signal() {
  struct sigaction action {};
  action.sa_handler = on_checkpoint_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, nullptr);
}

void catch_watcher_death() {
  struct sigaction action {};
  action.sa_handler = on_watcher_death;
  sigemptyset(&action.sa_mask);
  sigaction(SIGHUP, &action, nullptr);
}

bool take_checkpoint_request() {
  if (checkpoint_asked == 0) return false;
  checkpoint_asked = 0;
  return true;
}

int stop_signal() { return first_signal; }

void before_leaving_at_once(void (*action)()) { last_action = action; }

int stop_signal_heeded() {
  if (first_signal != 0) alarm(0);
  return first_signal;
}

}  // namespace hearsay::runtime
