// SPDX-License-Identifier: Apache-2.0
// Model files that the reference Python package reads: 8 bytes of header length (little-endian), a
// JSON header padded with spaces to a multiple of 8, then the values. F32 only. A file is either
// read whole and checked or refused: a weight file is the one input that strangers hand over. Lane:
// any. Cost: one pass over the bytes; the reader allocates no more than the file is long.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "kernels/core/buffer.hpp"
#include "kernels/core/layout.hpp"

namespace hearsay::runtime {

// The reference package's own limit.
inline constexpr std::size_t kMaxSafetensorsHeaderBytes = 100'000'000;

using TensorMetadata = std::map<std::string, std::string>;

struct TensorFile {
  kernels::Layout layout;         // in the order of the data
  kernels::Buffer<float> values;  // layout.size() values, bits as in the file
  TensorMetadata metadata;
};

// `values` holds layout.size() values; they are written bit for bit. The file is replaced
// atomically (atomic_file.hpp). Throws UsageError for what a reader would refuse: a name twice, the
// name __metadata__, a header over the limit.
void write_safetensors(const std::string& path, const kernels::Layout& layout,
                       std::span<const float> values, const TensorMetadata& metadata);

// What stands before the values, for whoever writes them in pieces. `path` is for the complaint.
std::string safetensors_head(const std::string& path, const kernels::Layout& layout,
                             const TensorMetadata& metadata);

// Throws UsageError when the file cannot be opened or holds another dtype (named), DamagedFile for
// anything else.
TensorFile read_safetensors(const std::string& path);

}  // namespace hearsay::runtime
