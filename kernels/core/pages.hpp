// SPDX-License-Identifier: Apache-2.0
// Memory of buffers, aligned to 64 bytes. Large ones lie on pages of 2 MiB where the system lends
// them (Linux, transparent huge pages "madvise" or "always"): scattered access to a model is bound
// by the translation of addresses, and 4 KiB pages of 40 MB do not fit what a core remembers.
#pragma once

#include <cstddef>

namespace hearsay::kernels {

inline constexpr std::size_t kPageAlignment = 64;

// Throws std::bad_alloc. The memory has no defined contents.
void* allocate_pages(std::size_t bytes);
// `bytes` as asked for.
void free_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace hearsay::kernels
