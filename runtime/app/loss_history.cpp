// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/loss_history.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hearsay::runtime {
namespace {

constexpr std::array<const char*, 8> kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 8> kAsciiBars{"_", ".", ":", "-", "=", "+", "*", "#"};
constexpr double kLeastLoss = 1e-4;  // below it the logarithm would use up the heights
constexpr double kFlat = 1.02;       // ratio below which losses count as equal: noise is no slope

double height_of(double loss) { return std::log(std::max(loss, kLeastLoss)); }

}  // namespace

void LossHistory::add(double progress, double loss) {
  if (!std::isfinite(loss) || !std::isfinite(progress)) return;
  const int bin = std::clamp(static_cast<int>(progress * kBins), 0, kBins - 1);
  bins_[static_cast<std::size_t>(bin)].sum += loss;
  ++bins_[static_cast<std::size_t>(bin)].count;
}

std::vector<double> LossHistory::means(int columns) const {
  std::vector<double> out;
  int last = kBins - 1;
  while (last >= 0 && bins_[static_cast<std::size_t>(last)].count == 0) --last;
  for (int column = 0; column < columns; ++column) {
    const int begin = column * kBins / columns;
    const int end = std::max((column + 1) * kBins / columns, begin + 1);
    if (begin > last) break;
    Bin all;
    for (int bin = begin; bin < end; ++bin) {
      all.sum += bins_[static_cast<std::size_t>(bin)].sum;
      all.count += bins_[static_cast<std::size_t>(bin)].count;
    }
    if (all.count > 0) {
      // Whatever came before the first loss shows as that loss.
      out.resize(static_cast<std::size_t>(column) + 1,
                 out.empty() ? all.sum / all.count : out.back());
      out.back() = all.sum / all.count;
    }
  }
  return out;
}

std::optional<LossScale> common_scale(const std::vector<LossHistory>& histories, int columns) {
  LossScale scale{std::numeric_limits<double>::infinity(), 0.0};
  for (const LossHistory& history : histories) {
    for (const double mean : history.means(columns)) {
      scale.least = std::min(scale.least, mean);
      scale.most = std::max(scale.most, mean);
    }
  }
  return scale.least <= scale.most ? std::optional(scale) : std::nullopt;
}

std::string sparkline(const std::vector<double>& means, const LossScale& scale, bool utf8) {
  const double low = height_of(scale.least);
  const double range = std::max(height_of(scale.most) - low, std::log(kFlat));
  std::string line;
  for (const double mean : means) {
    const double share = std::clamp((height_of(mean) - low) / range, 0.0, 1.0);
    line += (utf8 ? kBars : kAsciiBars)[static_cast<std::size_t>(std::lround(7.0 * share))];
  }
  return line;
}

}  // namespace hearsay::runtime
