// SPDX-License-Identifier: Apache-2.0
// The only file that includes mpi.h.
#include <mpi.h>

#include <list>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/launch/mpi_link.hpp"

namespace hearsay::runtime {
namespace {

constexpr int kTag = 1;

class Link final : public MpiLink {
 public:
  Link() {
    if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS)
      throw kernels::UsageError("MPI_Init failed; hearsay launch -n N needs no MPI");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~Link() override { MPI_Finalize(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::string text) override {
    Outgoing& out = outgoing_.emplace_back();  // a list: the text stays where MPI reads it
    out.text = std::move(text);
    MPI_Isend(out.text.data(), static_cast<int>(out.text.size()), MPI_CHAR, to, kTag,
              MPI_COMM_WORLD, &out.request);
  }

  std::vector<Message> receive() override {
    all_sent();
    std::vector<Message> messages;
    for (;;) {
      int is_there = 0, size = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &is_there, &status);
      if (is_there == 0) return messages;
      MPI_Get_count(&status, MPI_CHAR, &size);
      Message& message = messages.emplace_back();
      message.from = status.MPI_SOURCE;
      message.text.resize(static_cast<std::size_t>(size));
      // Small texts are here already; a large one waits for its sender's next look, a tick away.
      MPI_Recv(message.text.data(), size, MPI_CHAR, message.from, kTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    }
  }

  bool all_sent() override {
    std::erase_if(outgoing_, [](Outgoing& out) {
      int is_done = 0;
      MPI_Test(&out.request, &is_done, MPI_STATUS_IGNORE);
      return is_done != 0;
    });
    return outgoing_.empty();
  }

 private:
  struct Outgoing {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  int rank_ = 0, size_ = 1;
  std::list<Outgoing> outgoing_;
};

}  // namespace

bool mpi_is_built_in() { return true; }

std::unique_ptr<MpiLink> open_mpi_link() { return std::make_unique<Link>(); }

}  // namespace hearsay::runtime
