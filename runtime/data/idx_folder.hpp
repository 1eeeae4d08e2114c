// SPDX-License-Identifier: Apache-2.0
// A folder with the four files of MNIST and its relatives: {train,t10k}-images-idx3-ubyte and
// {train,t10k}-labels-idx1-ubyte, each plain or with ".gz" behind its name (plain wins when both
// are there). What is loaded is consistent: as many labels as images, one image size, every label
// below the number of classes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "runtime/data/dataset.hpp"

namespace hearsay::runtime {

// Whether at least one of the four files is in the folder.
bool has_idx_files(const std::filesystem::path& folder);

// Fills train and test. Without `classes` their number is the largest training label + 1, at
// least 2. Throws UsageError (a file is missing) or DamagedFile.
Dataset load_idx_folder(const std::filesystem::path& folder, std::optional<std::uint32_t> classes);

}  // namespace hearsay::runtime
