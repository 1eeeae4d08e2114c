// SPDX-License-Identifier: Apache-2.0
// How differently peers predict: the mean Jensen-Shannon divergence, in bits (0 to 1), between the
// rows of their tables of class probabilities on one set of probes (Lin 1991, "Divergence measures
// based on the Shannon entropy"). Asks whether two models do the same, where sketches ask whether
// they can be averaged; two permuted copies of one model are 0 apart here. Equal tables are
// exactly 0 apart. Rows are scaled to add up to 1, so fp16 tables will do; a table that is missing
// or has a value that is negative or not finite, or a row of zeros, isolates its peer. No metric:
// the triangle holds for its root only, so not for Ward.
// Lane: any, pure. Cost: a logarithm for each value of each pair: 5 ms for 16 peers with 512 rows
// of 10, but 20 s for 1,024.
#pragma once

#include <cstddef>
#include <span>

#include "clustering/distances.hpp"

namespace hearsay::clustering {

// tables[peer]: rows x classes, row by row, all of one size but for those that are missing.
Distances prediction_divergences(std::span<const std::span<const float>> tables,
                                 std::size_t classes);

}  // namespace hearsay::clustering
