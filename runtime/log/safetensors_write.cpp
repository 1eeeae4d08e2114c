// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstdint>
#include <set>
#include <string_view>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/log/atomic_file.hpp"
#include "runtime/log/json_text.hpp"
#include "runtime/log/safetensors.hpp"

namespace hearsay::runtime {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are written as they lie in memory");
static_assert(sizeof(float) == 4);

void append_list(std::string& out, std::span<const std::size_t> numbers) {
  out += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ',';
    append_json_uint(out, numbers[i]);
  }
  out += ']';
}

void append_metadata(std::string& out, const TensorMetadata& metadata) {
  append_json_key(out, "__metadata__");
  out += '{';
  for (const auto& [key, value] : metadata) {
    append_json_key(out, key);
    append_json_string(out, value);
  }
  out += '}';
}

void append_tensor(std::string& out, const kernels::TensorSlot& slot) {
  append_json_key(out, slot.name);
  out += "{\"dtype\":\"F32\",\"shape\":";
  append_list(out, slot.shape);
  out += ",\"data_offsets\":";
  const std::size_t range_bytes[] = {slot.offset * sizeof(float),
                                     (slot.offset + slot.count) * sizeof(float)};
  append_list(out, range_bytes);
  out += '}';
}

std::string header_of(const std::string& path, const kernels::Layout& layout,
                      const TensorMetadata& metadata) {
  std::string header = "{";
  if (!metadata.empty()) append_metadata(header, metadata);
  std::set<std::string_view> names;
  for (const kernels::TensorSlot& slot : layout.slots()) {
    if (slot.name == "__metadata__" || !names.insert(slot.name).second) {
      throw kernels::UsageError(path + ": a tensor cannot be named '" + slot.name +
                                "': the name is taken; rename it in the model");
    }
    append_tensor(header, slot);
    if (header.size() >= kMaxSafetensorsHeaderBytes) break;
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  if (header.size() > kMaxSafetensorsHeaderBytes) {
    throw kernels::UsageError(path + ": " + std::to_string(layout.slots().size()) +
                              " tensors need a header over the format's limit of " +
                              std::to_string(kMaxSafetensorsHeaderBytes) +
                              " bytes; join small tensors");
  }
  return header;
}

}  // namespace

std::string safetensors_head(const std::string& path, const kernels::Layout& layout,
                             const TensorMetadata& metadata) {
  const std::string header = header_of(path, layout, metadata);
  std::string head(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    head[i] = static_cast<char>((std::uint64_t{header.size()} >> (8 * i)) & 0xFF);
  return head + header;
}

void write_safetensors(const std::string& path, const kernels::Layout& layout,
                       std::span<const float> values, const TensorMetadata& metadata) {
  HS_CHECK(values.size() == layout.size());
  const std::string head = safetensors_head(path, layout, metadata);
  const std::string_view pieces[] = {
      head, {reinterpret_cast<const char*>(values.data()), values.size_bytes()}};
  write_file_atomically(path, pieces);
}

}  // namespace hearsay::runtime
