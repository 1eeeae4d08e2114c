// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace hearsay::kernels {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "hearsay: internal check failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace hearsay::kernels
