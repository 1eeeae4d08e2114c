// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/entry_support.hpp"

#include "gossip/codec/entry_records.hpp"

namespace hearsay::gossip {

void EntrySupport::choose(std::span<const float> weights, std::span<float> published,
                          PackedBytes& where, std::vector<std::uint32_t>& at) {
  at.clear();
  pick(weights, published, at);
  places_.to_numbers(at);
  put_entries(where, at, places_.large_count());
}

std::string EntrySupport::read(PackedReader& in, std::vector<std::uint32_t>& at) const {
  return read_entries(in, places_.large_count(), most_, at);
}

std::size_t EntrySupport::most_where_bytes() const {
  return most_entry_bytes(places_.large_count(), most_);
}

}  // namespace hearsay::gossip
