// SPDX-License-Identifier: Apache-2.0
// The bytes of a codec's message (format.md): what every message begins with, and a reader that
// gives nothing beyond the end. Little-endian hosts. Cost: O(1) a field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace hearsay::gossip {

using PackedBytes = std::vector<std::uint8_t>;
using PackedView = std::span<const std::uint8_t>;

// How a message says which weights it speaks of. The first byte of a message is kPackedVersion in
// the upper half and this in the lower.
enum class PackedForm : std::uint8_t {
  all = 0,         // every weight of the model
  entries = 1,     // a count, records of positions
  random = 2,      // a seed
  blocks = 3,      // a seed and a part of what it names
  same = 4,        // those of the message that it answers
  directions = 5,  // of matrices, what they are along these; all of other tensors
  changes = 6,     // bits of bf16 weights: all, or those that differ from what the receiver holds
};
inline constexpr std::uint8_t kPackedVersion = 1;
inline constexpr std::size_t kPackedHead = 5;  // bytes: version and form, tag

template <typename T>
void put_number(PackedBytes& bytes, T value) {
  static_assert(std::is_unsigned_v<T>);
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// `tag`: of the plan that both peers must share.
void put_head(PackedBytes& bytes, PackedForm form, std::uint32_t tag);

// Takes a message apart from the front; what is not there any more is nullopt, or no bytes.
class PackedReader {
 public:
  explicit PackedReader(PackedView bytes) : all_(bytes), rest_(bytes) {}

  PackedView rest() const noexcept { return rest_; }
  PackedView taken() const noexcept { return all_.first(all_.size() - rest_.size()); }
  bool skip(std::size_t bytes) {
    if (bytes > rest_.size()) return false;
    rest_ = rest_.subspan(bytes);
    return true;
  }
  template <typename T>
  std::optional<T> get() {
    T value{};
    if (rest_.size() < sizeof value) return std::nullopt;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }

 private:
  PackedView all_, rest_;
};

// Reads the head; the form, or nullopt and in `fault` why the message is refused.
std::optional<PackedForm> read_head(PackedReader& reader, std::uint32_t tag, std::string& fault);

}  // namespace hearsay::gossip
