// SPDX-License-Identifier: Apache-2.0
// First SIGINT or SIGTERM: finish cleanly at the next mini-batch, within 10 s. Second, or later
// than that: leave at once with 128 + signal.
#pragma once

namespace hearsay::runtime {

void catch_stop_signals();
// SIGHUP, which a watched peer gets when its watcher dies, perhaps several times: the first signal.
void catch_watcher_death();
// SIGUSR1 (Slurm's early warning): checkpoint and go on.
void catch_checkpoint_signal();
bool take_checkpoint_request();  // true once for every signal that came
int stop_signal();               // 0, SIGINT or SIGTERM: the first one that came
// The same for a watcher, which has deadlines of its own: takes the 10 s back.
int stop_signal_heeded();
// What the handler does before it leaves at once; only what a signal handler may do.
void before_leaving_at_once(void (*action)());

}  // namespace hearsay::runtime
