// SPDX-License-Identifier: Apache-2.0
#include "clustering/null_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/core/check.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::clustering {
namespace {

constexpr std::size_t kLeastValues = 64;
constexpr std::size_t kLeastSigns = 256;
constexpr std::size_t kMostWork = std::size_t{1} << 28;  // products in all distances of all nulls

std::size_t values_of_a_null(std::size_t peers, std::uint32_t nulls, std::size_t values) {
  const std::size_t pairs = std::max<std::size_t>(1, nulls * (peers * peers / 2));
  return std::min(values, std::max(kLeastValues, kMostWork / pairs));
}

// Signs alone, 64 a number drawn: in so many dimensions the angles between such vectors are those
// of normal ones to within what 20 nulls can tell, for a tenth of the time.
void draw_signs(kernels::Rng& rng, double norm, std::span<float> out) {
  const auto size = static_cast<float>(norm / std::sqrt(static_cast<double>(out.size())));
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < out.size(); ++i, bits >>= 1) {
    if (i % 64 == 0) bits = rng.next_u64();
    out[i] = (bits & 1) != 0 ? size : -size;
  }
}

// A vector in a random direction.
void draw(kernels::Rng& rng, double norm, std::span<float> out) {
  if (out.size() >= kLeastSigns) return draw_signs(rng, norm, out);
  double squares = 0.0;
  for (float& value : out) {
    value = static_cast<float>(rng.normal());
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const double scale = squares > 0.0 ? norm / std::sqrt(squares) : 0.0;
  for (float& value : out) value = static_cast<float>(static_cast<double>(value) * scale);
}

}  // namespace

std::vector<double> null_silhouettes(const NullModel& model, std::span<const double> norms,
                                     std::size_t values) {
  HS_CHECK(values > 0);
  const std::size_t drawn = values_of_a_null(norms.size(), model.nulls, values);
  std::vector<float> rows(norms.size() * drawn);
  std::vector<std::span<const float>> sketches;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    sketches.push_back(std::span(rows).subspan(i * drawn, drawn));
  }
  std::vector<double> out;
  for (std::uint32_t k = 0; k < model.nulls; ++k) {
    kernels::Rng rng = kernels::Rng::stream(model.seed, "clustering.null", k);
    for (std::size_t i = 0; i < norms.size(); ++i) {
      draw(rng, norms[i], std::span(rows).subspan(i * drawn, drawn));
    }
    const Distances distances = sketch_distances(sketches, model.metric);
    const Tree tree =
        agglomerate(model.linkage == Linkage::ward ? squared(distances) : distances, model.linkage);
    out.push_back(best_split(tree, distances, model.rule).silhouette);
  }
  std::sort(out.begin(), out.end());
  return out;
}

double upper_limit(std::span<const double> ascending, double share) {
  if (ascending.empty()) return std::numeric_limits<double>::infinity();
  const double rank = share * static_cast<double>(ascending.size() + 1) - 1.0;  // from 0
  if (rank <= 0.0) return ascending.front();
  const auto low = static_cast<std::size_t>(rank);
  if (low + 1 >= ascending.size()) return ascending.back();
  const double part = rank - static_cast<double>(low);
  return ascending[low] + part * (ascending[low + 1] - ascending[low]);
}

}  // namespace hearsay::clustering
