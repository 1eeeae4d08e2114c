// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/pages.hpp"

#include <sys/mman.h>

#include <new>

namespace hearsay::kernels {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kHugeFrom = 8 * kHugePage;  // smaller buffers would waste too much

std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{bytes < kHugeFrom ? kPageAlignment : kHugePage};
}

}  // namespace

void* allocate_pages(std::size_t bytes) {
  void* const memory = ::operator new[](bytes, alignment_of(bytes));
#ifdef MADV_HUGEPAGE
  // Whole pages only. When the system declines, ordinary pages serve.
  if (bytes >= kHugeFrom) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return memory;
}

void free_pages(void* memory, std::size_t bytes) noexcept {
  ::operator delete[](memory, alignment_of(bytes));
}

}  // namespace hearsay::kernels
