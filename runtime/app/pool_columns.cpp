// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/pool_columns.hpp"

#include <algorithm>
#include <array>

namespace hearsay::runtime {
namespace {

// First to go, first in the list. The name and the state's glyph stay.
constexpr std::array kGivesWay{Field::bytes,    Field::partner, Field::spark,
                               Field::speed,    Field::word,    Field::bar,
                               Field::accuracy, Field::loss,    Field::percent};

int total(const std::vector<Column>& columns) {
  int sum = 0;
  for (const Column& column : columns) sum += column.gap + column.width;
  return sum;
}

}  // namespace

std::vector<Column> choose_columns(int room, int name) {
  // The bar and the sparkline begin at their least widths.
  std::vector<Column> columns{{Field::name, 0, name}, {Field::glyph, 1, 1},
                              {Field::word, 1, 6},    {Field::bar, 2, 5},
                              {Field::percent, 1, 4}, {Field::loss, 2, 6},
                              {Field::spark, 1, 6},   {Field::accuracy, 2, 5},
                              {Field::speed, 2, 7},   {Field::partner, 2, name + 5},
                              {Field::bytes, 2, 10}};
  for (const Field field : kGivesWay) {
    if (total(columns) <= room) break;
    std::erase_if(columns, [&](const Column& column) { return column.field == field; });
  }
  for (int spare = room - total(columns); spare > 0; --spare) {
    Column* narrowest = nullptr;
    for (Column& column : columns) {
      const bool grows = (column.field == Field::bar && column.width < kWidestBar) ||
                         (column.field == Field::spark && column.width < kWidestSpark);
      if (grows && (narrowest == nullptr || column.width < narrowest->width)) narrowest = &column;
    }
    if (narrowest == nullptr) break;
    ++narrowest->width;
  }
  return columns;
}

}  // namespace hearsay::runtime
