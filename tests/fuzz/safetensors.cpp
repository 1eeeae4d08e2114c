// SPDX-License-Identifier: Apache-2.0
// Model files, which strangers hand over. The first byte chooses: the bytes as they are, or with
// the header's length put right, so that damage reaches what lies behind it.
#include <cstring>

#include "kernels/core/errc.hpp"
#include "runtime/log/safetensors.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using namespace hearsay::runtime;
using fuzz::require;

namespace {

// The header ends with the last brace.
std::string with_length(std::string_view bytes) {
  std::string file(bytes);
  const std::size_t end = file.rfind('}');
  if (file.size() < sizeof(std::uint64_t) || end == std::string::npos) return file;
  const std::uint64_t length = end + 1 > 8 ? end + 1 - 8 : 0;
  std::memcpy(file.data(), &length, sizeof length);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  fuzz::Bytes bytes(data, size);
  const bool mended = (bytes.byte() & 1) != 0;
  const std::string& path =
      mended ? file.holding(with_length(bytes.text())) : file.holding(bytes.text());
  fuzz::decodes<kernels::DamagedFile, kernels::UsageError>([&] {
    const TensorFile read = read_safetensors(path);
    require(read.values.size() == read.layout.size(), "as many values as the tensors say");
    require(read.values.size() * sizeof(float) <= size, "no more values than the file is long");
    std::size_t end = 0;
    for (const kernels::TensorSlot& slot : read.layout.slots()) {
      require(slot.offset == end, "tensors follow each other");
      end += slot.count;
    }
    require(end == read.layout.size(), "and fill the values");
  });
  return 0;
}
