// SPDX-License-Identifier: Apache-2.0
// Reads an input journal back, entry by entry. Takes any bytes: what is torn or damaged ends the
// journal there, and says where and why. Lane: any. Cost: the file is read whole; entries are
// decoded one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/log/input_journal.hpp"
#include "runtime/log/journal_bytes.hpp"

namespace hearsay::runtime {

class JournalReader {
 public:
  // Throws UsageError when the file cannot be read, DamagedFile when not even its head is whole.
  explicit JournalReader(const std::string& path);
  // From bytes in memory; `path` is only named in messages.
  JournalReader(std::string path, std::vector<std::byte> bytes);

  const nlohmann::ordered_json& head() const noexcept { return head_; }
  const std::string& path() const noexcept { return path_; }
  // The next entry; nothing at the end, and after damage.
  std::optional<journal::Entry> next();
  std::uint64_t entries() const noexcept { return entries_; }  // read so far
  // Where and why it ended before its time; empty: with its last whole chunk.
  const std::string& damage() const noexcept { return damage_; }
  void rewind();

 private:
  bool next_chunk();
  void fail(const std::string& what);

  std::string path_;
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;  // of the next chunk
  journal::Source chunk_;
  nlohmann::ordered_json head_;
  std::uint64_t entries_ = 0;
  gossip::Time last_{0};
  std::string damage_;
};

}  // namespace hearsay::runtime
