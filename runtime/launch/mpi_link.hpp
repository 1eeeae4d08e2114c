// SPDX-License-Identifier: Apache-2.0
// What supervisors use MPI for: short texts between ranks. Invariant: nothing waits, and texts from
// one rank to another arrive in the order sent. The implementation is chosen at link time:
// launch_mpi.cpp, or launch_mpi_absent.cpp where there is no MPI. Lane: one thread. Cost: a text is
// copied twice; a rank holds what it has sent until MPI has taken it.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace hearsay::runtime {

class MpiLink {
 public:
  struct Message {
    int from = 0;
    std::string text;
  };
  virtual ~MpiLink() = default;  // waits until all ranks have come here (MPI_Finalize)

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void send(int to, std::string text) = 0;
  virtual std::vector<Message> receive() = 0;  // what is there; also moves what was sent on
  virtual bool all_sent() = 0;
};

bool mpi_is_built_in();
// MPI_Init: returns when all ranks of the job are there. Processes that outlive this one's use of
// MPI are forked before. Throws UsageError where there is no MPI.
std::unique_ptr<MpiLink> open_mpi_link();

}  // namespace hearsay::runtime
