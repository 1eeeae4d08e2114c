// SPDX-License-Identifier: Apache-2.0
// Catch2's main for tests that need a GPU: without one every test is skipped (exit code 77), by name.
#include <cstdio>

#include "kernels/cuda/device_api.h"
#include "tests/cuda_session.hpp"

int main(int argc, char** argv) {
  Catch::Session session;
  const int error = session.applyCommandLine(argc, argv);
  if (error != 0) return error;
  const auto& config = session.configData();
  const bool only_lists = config.listTests || config.listTags || config.listReporters ||
                          hearsay::tests::lists_names(config);
  int why = 0;
  if (!only_lists && hs_cuda_device_count(&why) == 0) {
    std::printf("skipped: no CUDA device (error %d)\n", why);
    return 77;
  }
  return session.run();
}
