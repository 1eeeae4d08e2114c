// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/message.hpp"

namespace hearsay::gossip {

void put_head(PackedBytes& bytes, PackedForm form, std::uint32_t tag) {
  bytes.push_back(static_cast<std::uint8_t>(kPackedVersion << 4 | static_cast<unsigned>(form)));
  put_number(bytes, tag);
}

std::optional<PackedForm> read_head(PackedReader& reader, std::uint32_t tag, std::string& fault) {
  const auto first = reader.get<std::uint8_t>();
  const auto read = reader.get<std::uint32_t>();
  if (!first || !read) {
    fault = "message is cut off in its head";
    return std::nullopt;
  }
  if (*first >> 4 != kPackedVersion) {
    fault = "message has version " + std::to_string(*first >> 4) + ", this program reads version " +
            std::to_string(kPackedVersion);
    return std::nullopt;
  }
  if (*read != tag) {
    fault = "message is of another codec, model or start (its tag differs)";
    return std::nullopt;
  }
  return static_cast<PackedForm>(*first & 15u);
}

}  // namespace hearsay::gossip
