// SPDX-License-Identifier: Apache-2.0
#include "clustering/discover.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "clustering/null_model.hpp"
#include "clustering/silhouette.hpp"

namespace hearsay::clustering {
namespace {

double null_limit(Sketches sketches, const Recipe& recipe) {
  const std::vector<float> rows = centred(sketches);
  std::size_t values = 0;
  for (const std::span<const float> sketch : sketches) {
    if (usable(sketch)) values = sketch.size();
  }
  if (values == 0) return 0.0;
  std::vector<double> norms;
  for (std::size_t begin = 0; begin < rows.size(); begin += values) {
    double squares = 0.0;
    for (const float v : std::span(rows).subspan(begin, values)) {
      squares += static_cast<double>(v) * static_cast<double>(v);
    }
    norms.push_back(std::sqrt(squares));
  }
  const NullModel model{recipe.metric, recipe.linkage, recipe.rule, recipe.nulls, recipe.seed};
  return upper_limit(null_silhouettes(model, norms, values));
}

void cut_by_silhouettes(Sketches sketches, const Recipe& recipe, Discovery& found) {
  Split split = cut_by_silhouette(found.tree, found.distances, recipe.rule);
  found.silhouette = split.silhouette;
  found.partition = std::move(split.partition);
  if (recipe.cut == CutRule::silhouette || split.silhouette < recipe.rule.least) return;
  found.null_limit = null_limit(sketches, recipe);
  if (found.silhouette <= found.null_limit) found.partition = cut_to_count(found.tree, 1);
}

}  // namespace

Discovery discover(Sketches sketches, const Recipe& recipe) {
  Discovery found;
  found.distances = sketch_distances(sketches, recipe.metric);
  found.tree = agglomerate(
      recipe.linkage == Linkage::ward ? squared(found.distances) : found.distances, recipe.linkage);
  switch (recipe.cut) {
    case CutRule::calibrated:
    case CutRule::silhouette: cut_by_silhouettes(sketches, recipe, found); return found;
    case CutRule::gap: found.partition = cut_at_gap(found.tree, recipe.least_gap); break;
    case CutRule::count: found.partition = cut_to_count(found.tree, recipe.count); break;
    case CutRule::height: found.partition = cut_at_height(found.tree, recipe.height); break;
  }
  found.silhouette = silhouette(found.distances, found.partition);
  return found;
}

}  // namespace hearsay::clustering
