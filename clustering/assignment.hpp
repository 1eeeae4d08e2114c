// SPDX-License-Identifier: Apache-2.0
// The assignment problem by the Hungarian method (Kuhn 1955; with potentials and shortest
// augmenting paths, Jonker & Volgenant 1987): each row gets a column of its own so that the sum of
// the gains is greatest. Used to let communities keep their labels.
// Lane: any, pure. Cost: O(rows^2 columns); microseconds for 8 x 8.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hearsay::clustering {

// gains: rows x columns, row by row, finite; rows <= columns. Returns the column of each row.
std::vector<std::size_t> assign(std::size_t rows, std::size_t columns,
                                std::span<const double> gains);

}  // namespace hearsay::clustering
