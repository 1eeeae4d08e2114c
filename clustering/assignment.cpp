// SPDX-License-Identifier: Apache-2.0
#include "clustering/assignment.hpp"

#include <limits>

#include "kernels/core/check.hpp"

namespace hearsay::clustering {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

// Invariant: cost(r, c) = -gain >= row_price[r] + column_price[c], equal where r holds c.
class Matching {
 public:
  Matching(std::size_t rows, std::size_t columns, std::span<const double> gains)
      : columns_(columns),
        gains_(gains),
        row_price_(rows),
        column_price_(columns),
        holder_(columns, kNobody) {}

  // Gives `row` a column; others may have to take another one. Dijkstra over reduced costs.
  void add(std::size_t row) {
    std::vector<double> way(columns_, kInf);  // cheapest way from `row` to the column
    std::vector<std::size_t> from(columns_, kNobody);
    std::vector<bool> is_done(columns_, false);
    std::size_t at = row, last = kNobody;
    double length = 0.0;
    for (;;) {
      std::size_t next = kNobody;
      for (std::size_t c = 0; c < columns_; ++c) {
        if (is_done[c]) continue;
        const double step = length + reduced(at, c);
        if (step < way[c]) {
          way[c] = step;
          from[c] = last;
        }
        if (next == kNobody || way[c] < way[next]) next = c;
      }
      is_done[next] = true;
      last = next;
      length = way[next];
      if (holder_[next] == kNobody) break;
      at = holder_[next];
    }
    change_prices(row, is_done, way, length);
    for (std::size_t c = last; c != kNobody;) {
      holder_[c] = from[c] == kNobody ? row : holder_[from[c]];
      c = from[c];
    }
  }

  std::size_t holder(std::size_t column) const { return holder_[column]; }

 private:
  double reduced(std::size_t r, std::size_t c) const {
    return -gains_[r * columns_ + c] - row_price_[r] - column_price_[c];
  }

  void change_prices(std::size_t row, const std::vector<bool>& is_done, std::span<const double> way,
                     double length) {
    row_price_[row] += length;
    for (std::size_t c = 0; c < columns_; ++c) {
      if (!is_done[c]) continue;
      column_price_[c] += way[c] - length;
      if (holder_[c] != kNobody) row_price_[holder_[c]] += length - way[c];
    }
  }

  std::size_t columns_;
  std::span<const double> gains_;
  std::vector<double> row_price_, column_price_;
  std::vector<std::size_t> holder_;  // [column] its row
};

}  // namespace

std::vector<std::size_t> assign(std::size_t rows, std::size_t columns,
                                std::span<const double> gains) {
  HS_CHECK(rows <= columns && gains.size() == rows * columns);
  Matching matching(rows, columns, gains);
  for (std::size_t row = 0; row < rows; ++row) matching.add(row);
  std::vector<std::size_t> out(rows);
  for (std::size_t c = 0; c < columns; ++c) {
    if (matching.holder(c) != kNobody) out[matching.holder(c)] = c;
  }
  return out;
}

}  // namespace hearsay::clustering
