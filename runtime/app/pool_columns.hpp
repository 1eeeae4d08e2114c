// SPDX-License-Identifier: Apache-2.0
// Which columns of the table of a live pool a window has room for, and how wide they are.
// Invariant: their sum, gaps included, is at most the room, unless even the name does not fit.
// Pure; any lane; cost: nothing worth naming.
#pragma once

#include <vector>

namespace hearsay::runtime {

constexpr int kWidestBar = 16, kWidestSpark = 16;

// In the order of the table.
enum class Field { name, glyph, word, bar, percent, loss, spark, accuracy, speed, partner, bytes };

struct Column {
  Field field;
  int gap;    // blanks before it
  int width;  // without the gap
};

// `name` columns for the longest name. In the order of the table.
std::vector<Column> choose_columns(int room, int name);

}  // namespace hearsay::runtime
