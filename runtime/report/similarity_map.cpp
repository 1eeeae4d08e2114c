// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/similarity_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runtime/report/series.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::string shade_class(int shade) { return shade < 0 ? "unknown" : "lv" + std::to_string(shade); }

// "M1 2h30v10h-30z"
void add_box(double x, double y, double width, double height, std::string& path) {
  const std::string w = coordinate(width);
  path += "M" + coordinate(x) + " " + coordinate(y) + "h" + w + "v" + coordinate(height) + "h-" +
          w + "z";
}

}  // namespace

void ShadeRange::add(const clustering::Distances& distances) {
  for (const double d : distances.values()) {
    if (!std::isfinite(d)) continue;
    near = is_empty ? d : std::min(near, d);
    far = is_empty ? d : std::max(far, d);
    is_empty = false;
  }
}

int ShadeRange::shade(double distance) const {
  if (!std::isfinite(distance)) return -1;
  if (!(far > near)) return kShades - 1;
  const double share = std::clamp((far - distance) / (far - near), 0.0, 1.0);
  return std::min(kShades - 1, static_cast<int>(share * kShades));
}

SimilarityMap::SimilarityMap(const clustering::Distances& distances,
                             std::span<const PeerIndex> order)
    : order_(order.begin(), order.end()),
      stride_(std::max<std::size_t>(1, (order.size() + kMostCells - 1) / kMostCells)),
      cells_((order.size() + stride_ - 1) / stride_),
      values_(cells_ * cells_, kInf) {
  for (std::size_t row = 0; row < cells_; ++row) {
    for (std::size_t column = 0; column < cells_; ++column) {
      double sum = 0.0, known = 0.0;
      for (std::size_t i = row * stride_; i < std::min(order_.size(), (row + 1) * stride_); ++i) {
        for (std::size_t j = column * stride_; j < std::min(order_.size(), (column + 1) * stride_);
             ++j) {
          const double d = i == j && stride_ > 1 ? kInf : distances(order_[i], order_[j]);
          if (!std::isfinite(d)) continue;
          sum += d;
          known += 1.0;
        }
      }
      if (known > 0.0) values_[row * cells_ + column] = sum / known;
    }
  }
}

void SimilarityMap::draw(const ShadeRange& range, const MapPlace& place, const RunFacts* facts,
                         Drawing& d) const {
  const double cell = place.side / static_cast<double>(std::max<std::size_t>(1, cells_));
  const auto x = [&](std::size_t column) { return place.x + static_cast<double>(column) * cell; };
  const auto y = [&](std::size_t row) { return place.y + static_cast<double>(row) * cell; };
  if (facts != nullptr && cells_ <= kMostTitles && stride_ == 1) {
    for (std::size_t row = 0; row < cells_; ++row) {
      for (std::size_t column = 0; column < cells_; ++column) {
        const double distance = at(row, column);
        const std::string& a = facts->peer_name(order_[row]);
        const std::string& b = facts->peer_name(order_[column]);
        const std::string title =
            row == column
                ? a
                : a + " and " + b + ": " +
                      (std::isfinite(distance) ? fixed(distance, 2) + " apart" : "not known");
        d.rect(x(column), y(row), cell - 0.5, cell - 0.5, shade_class(range.shade(distance)), title,
               "data-m");
      }
    }
  } else {
    std::array<std::string, kShades + 1> paths;
    for (std::size_t row = 0; row < cells_; ++row) {
      for (std::size_t begin = 0, end = 0; begin < cells_; begin = end) {
        const int shade = range.shade(at(row, begin));
        for (end = begin + 1; end < cells_ && range.shade(at(row, end)) == shade;) ++end;
        add_box(x(begin), y(row), x(end) - x(begin), cell,
                paths[static_cast<std::size_t>(shade + 1)]);
      }
    }
    for (int shade = -1; shade < kShades; ++shade) {
      const std::string& path = paths[static_cast<std::size_t>(shade + 1)];
      if (!path.empty()) d.path(path, shade_class(shade));
    }
  }
  d.rect(place.x, place.y, place.side, place.side, "heat-box");
}

}  // namespace hearsay::runtime::report
