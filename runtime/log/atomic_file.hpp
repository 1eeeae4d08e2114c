// SPDX-License-Identifier: Apache-2.0
// Replaces a whole file or leaves the old one: the bytes go to `.<name>.tmp` in the same folder,
// are synced, renamed over `path`, and the folder is synced. Invariant: `path` is always absent,
// the old bytes, or the new bytes. A temporary that a killed writer left behind is taken over by
// the next write of the same file; two writers take turns by flock. Lane: any. Cost: the bytes
// once, two fsync calls.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hearsay::runtime {

// Throws a Fault (exit 1) with file and errno text; the temporary is gone and the old file
// untouched then. The one exception: when only the folder cannot be synced, the new file stands and
// the Fault says that a crash may undo it.
void write_file_atomically(const std::string& path, std::string_view bytes);
// The same for bytes that lie in several pieces.
void write_file_atomically(const std::string& path, std::span<const std::string_view> pieces);

}  // namespace hearsay::runtime
