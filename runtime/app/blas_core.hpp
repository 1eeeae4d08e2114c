// SPDX-License-Identifier: Apache-2.0
// OpenBLAS picks its kernels by the CPU, and with them the last bits of every product. A run that
// was recorded on another CPU is made again with that one's kernels where this CPU can execute
// them: the library is told by OPENBLAS_CORETYPE before it is loaded, so the program starts itself
// anew.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearsay::runtime {

// "Haswell" of "OpenBLAS 0.3.21 Haswell, 1 thread a peer", when `own` says the same but for that
// name; nothing when they are equal, differ in more, or this CPU cannot execute those kernels.
std::optional<std::string> core_to_take(std::string_view recorded, std::string_view own);

// Kernels that this CPU executes and that are wider than those of `core`, when the library has taken
// SSE for a CPU with AVX2: it does so with CPUs that are newer than itself.
std::optional<std::string> wider_core(std::string_view core);

// Replaces this process by `hearsay <words>` under that core type. Returns only when that is
// impossible, or has been done already.
void start_with_core(const std::string& core, const std::vector<std::string>& words);

}  // namespace hearsay::runtime
