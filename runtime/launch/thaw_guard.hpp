// SPDX-License-Identifier: Apache-2.0
// Lets a frozen process go on when whoever froze it has died: SIGTERM, which it then gets, waits
// until it runs, so without a guard a stalled peer would outlive a killed watcher for ever.
// Invariant: the guard's process ends with this object or with this process, whichever is first.
// Lane: any one thread. Cost: one fork, a process that sleeps.
#pragma once

namespace hearsay::runtime {

class ThawGuard {
 public:
  explicit ThawGuard(int pidfd);  // of the frozen process; without a descriptor there is no guard
  ~ThawGuard();                   // lets it go on
  ThawGuard(const ThawGuard&) = delete;
  ThawGuard& operator=(const ThawGuard&) = delete;

 private:
  int alive_ = -1;  // the guard reads end-of-file here
  int pid_ = -1;
};

}  // namespace hearsay::runtime
