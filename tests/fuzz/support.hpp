// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share: a property that must hold, a reader that takes an input apart, and a
// file in memory for decoders that want a path. A target only judges; what is wrong with a decoder
// is put right there.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace hearsay::fuzz {

// Aborts: that is what a fuzzer takes for a finding.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", property);
  std::abort();
}

// Calls `decode`. Only the kinds of exceptions that it is documented to throw may leave it; true
// when none did.
template <typename... Documented, typename Decode>
bool decodes(const Decode& decode) {
  if constexpr (sizeof...(Documented) == 0) {
    decode();
    return true;
  } else {
    return []<typename First, typename... Rest>(const Decode& body, First*, Rest*...) {
      try {
        return decodes<Rest...>(body);
      } catch (const First&) {
        return false;
      }
    }(decode, static_cast<Documented*>(nullptr)...);
  }
}

// Takes an input apart from the front; beyond the end everything is zero.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool empty() const { return rest_.empty(); }
  std::span<const std::uint8_t> rest() const { return rest_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(rest_.data()), rest_.size()};
  }
  std::span<const std::uint8_t> take(std::size_t count) {
    const auto taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::uint8_t byte() {
    const auto taken = take(1);
    return taken.empty() ? std::uint8_t{0} : taken[0];
  }

 private:
  std::span<const std::uint8_t> rest_;
};

// One file without a name on any disk; holds the newest input.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("input", 0)) {
    require(descriptor_ >= 0, "a file in memory can be made");
    path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  const std::string& holding(std::string_view bytes) {
    const bool written =
        ::ftruncate(descriptor_, 0) == 0 &&
        ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    require(written, "a file in memory can be written");
    return path_;
  }

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace hearsay::fuzz
