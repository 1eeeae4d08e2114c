// SPDX-License-Identifier: Apache-2.0
// mpi_allreduce N: what row `allreduce` of `hearsay bench net` measures, with MPI_Allreduce (float
// sums, in place): the same inputs, rounds and comparison. Any number of processes up to 16.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "experiments/peers/json_out.hpp"
#include "kernels/core/buffer.hpp"
#include "kernels/core/digest.hpp"
#include "runtime/bench/net_workload.hpp"

namespace workload = hearsay::runtime::net_workload;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int self = 0, processes = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (argc != 2 || processes > static_cast<int>(workload::kMostProcesses)) {
    if (self == 0) std::fprintf(stderr, "usage: mpirun -n P mpi_allreduce N   (P up to 16)\n");
    MPI_Finalize();
    return 2;
  }
  const auto values = static_cast<std::size_t>(std::strtod(argv[1], nullptr));
  const auto rank = static_cast<std::uint32_t>(self);
  const auto pool = static_cast<std::uint32_t>(processes);
  const workload::Rounds rounds = workload::rounds_for(values);
  hearsay::kernels::Buffer<float> gradient(values);
  hearsay::peers::Result result{"allreduce", values, processes, {}, 0, ""};
  for (std::uint32_t k = 0; k < rounds.total(); ++k) {
    workload::fill(gradient.span(), rank, k);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, gradient.data(), static_cast<int>(values), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    const double own = MPI_Wtime() - begin;
    double slowest = 0.0;
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    std::uint64_t own_wrong = workload::wrong_sums(gradient.span(), pool, k), wrong = 0;
    MPI_Reduce(&own_wrong, &wrong, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    result.wrong += wrong;
    if (k >= rounds.warm_up) result.seconds.push_back(slowest);
  }
  result.digest = hearsay::kernels::digest(gradient.span()).hex();
  if (self == 0) print_json(result);
  MPI_Finalize();
  return 0;
}
