// SPDX-License-Identifier: Apache-2.0
// Holds what a peer prints until its run has a directory, then keeps it there. Under mpirun a peer
// starts before anybody has named the run. The peer itself writes to a nameless temporary file, so
// it never waits for this process, and nothing is left behind. Lane: the supervisor's thread. Cost:
// one copy of the output.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace hearsay::runtime {

class HeldOutput {
 public:
  HeldOutput();   // throws UsageError when there is no room for a temporary file
  ~HeldOutput();  // flushes

  // A name under which this process can open the file.
  std::string path() const;
  // From now on flush() appends to the file `path`.
  void keep_in(std::string path) { kept_in_ = std::move(path); }
  void flush() noexcept;

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::string kept_in_;
  long copied_bytes_ = 0;
};

}  // namespace hearsay::runtime
