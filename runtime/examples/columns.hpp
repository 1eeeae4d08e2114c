// SPDX-License-Identifier: Apache-2.0
// A column of plain values into an archive and back: its bytes, beside the weights, as numbers by
// the thousand are no text. Cost: one copy.
#pragma once

#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "gossip/archive.hpp"

namespace hearsay::runtime {

// When loading: exactly `rows` values, or a fault.
template <typename T>
void keep_column(gossip::Archive& archive, const char* key, std::vector<T>& column,
                 std::size_t rows) {
  static_assert(std::is_trivially_copyable_v<T>);
  merge::PackedRef bytes;
  if (!archive.loading()) {
    auto packed = std::make_shared<merge::Packed>();
    packed->bytes.resize(column.size() * sizeof(T));
    if (!column.empty()) std::memcpy(packed->bytes.data(), column.data(), packed->bytes.size());
    bytes = std::move(packed);
  }
  archive(key, bytes);
  if (!archive.loading()) return;
  const std::size_t size = bytes ? bytes->bytes.size() : 0;
  if (size / sizeof(T) != rows || size % sizeof(T) != 0)
    archive.fail(key, "has not one value an example");
  column.resize(rows);
  if (size > 0) std::memcpy(column.data(), bytes->bytes.data(), size);
}

}  // namespace hearsay::runtime
