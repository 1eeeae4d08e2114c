// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/blas_core.hpp"

#include "tests/catch.hpp"

using hearsay::runtime::core_to_take;

TEST_CASE("only another core type of the same library is worth another start") {
  const std::string own = "OpenBLAS 0.3.21 Zen, 1 thread a peer";
  CHECK_FALSE(core_to_take(own, own));
  CHECK_FALSE(core_to_take("OpenBLAS 0.3.26 Haswell, 1 thread a peer", own));
  CHECK_FALSE(core_to_take("OpenBLAS 0.3.21 Haswell, 2 threads a peer", own));
  CHECK_FALSE(core_to_take("MKL 2024 Haswell, 1 thread a peer", own));
  CHECK_FALSE(core_to_take("", own));
  CHECK_FALSE(core_to_take("OpenBLAS 0.3.21 Core9, 1 thread a peer", own));
#if defined(__x86_64__)
  CHECK(core_to_take("OpenBLAS 0.3.21 Prescott, 1 thread a peer", own) == "Prescott");
#endif
}

TEST_CASE("SSE kernels on a CPU that executes wider ones are worth a word") {
  using hearsay::runtime::wider_core;
  CHECK_FALSE(wider_core("Haswell"));
  CHECK_FALSE(wider_core("SkylakeX"));
  CHECK_FALSE(wider_core(""));
  const auto wider = wider_core("Prescott");
  CHECK(wider == wider_core("Nehalem"));
  CHECK((!wider || *wider == "SkylakeX" || *wider == "Haswell"));
#if defined(__x86_64__)
  CHECK(wider.has_value() == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
#endif
}
