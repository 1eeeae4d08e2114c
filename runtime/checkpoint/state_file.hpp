// SPDX-License-Identifier: Apache-2.0
// state.json of a checkpoint: one JSON object on one line whose last key is the digest of the text
// before it, and the list of files that belong to it, with their digests by pieces of at most 1 MiB
// (so that damage has an offset). Lane: any. Cost: one pass over text or file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace hearsay::runtime {

inline constexpr std::size_t kDigestPieceBytes = std::size_t{1} << 20;

struct FileDigests {
  std::string name;
  struct Piece {
    std::size_t bytes = 0;
    std::uint64_t digest = 0;
  };
  std::vector<Piece> pieces;

  void add(std::string_view bytes);  // any number of them; each call begins a piece
  std::size_t bytes() const;
};

// `object` becomes the text with its digest.
std::string sealed_text(const nlohmann::ordered_json& object);
// The object of a sealed file. Throws DamagedFile, UsageError when it cannot be read.
nlohmann::ordered_json read_sealed(const std::string& path);

nlohmann::ordered_json to_json(const std::vector<FileDigests>& files);
// `path` is the state file's, for complaints.
std::vector<FileDigests> files_from_json(const std::string& path,
                                         const nlohmann::ordered_json& json);

// Throws DamagedFile with the offset of the first piece that differs, or where the file ends.
void check_file(const std::string& path, const FileDigests& digests);

}  // namespace hearsay::runtime
