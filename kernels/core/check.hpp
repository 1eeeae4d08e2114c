// SPDX-License-Identifier: Apache-2.0
// HS_CHECK(cond): an invariant of ours. Prints the condition and where it broke, then aborts; on in
// every build. Never used for input: bad input is a Result or an exception (ARCHITECTURE.md,
// "Errors").
#pragma once

namespace hearsay::kernels {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace hearsay::kernels

#define HS_CHECK(cond) \
  ((cond) ? static_cast<void>(0) : ::hearsay::kernels::check_failed(#cond, __FILE__, __LINE__))
