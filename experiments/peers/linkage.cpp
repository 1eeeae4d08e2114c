// SPDX-License-Identifier: Apache-2.0
// Our trees for others to look at: `linkage METHOD < distances` reads cases of n and n (n - 1) / 2
// condensed distances and prints, for each, n - 1 lines "a b height size" in SciPy's linkage
// format. METHOD is single, complete, average or ward; ward takes squared distances, as the library
// does. `linkage --time N` prints the CPU time of tree and cut for N peers, the best of five.
// Exits 2 when the arguments or the input are no use.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "clustering/cut.hpp"
#include "kernels/core/rng.hpp"

using namespace hearsay::clustering;

namespace {

int refuse(const char* what) {
  std::fprintf(stderr, "linkage: %s; usage: linkage METHOD < distances, or linkage --time N\n",
               what);
  return 2;
}

std::optional<Linkage> linkage_of(std::string_view name) {
  if (name == "single") return Linkage::single;
  if (name == "complete") return Linkage::complete;
  if (name == "average") return Linkage::average;
  if (name == "ward") return Linkage::ward;
  return std::nullopt;
}

// False when the text ends early or holds what is no distance.
bool read_distances(std::istream& in, Distances& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t j = i + 1; j < out.size(); ++j) {
      double distance = 0.0;
      if (!(in >> distance) || !(distance >= 0.0)) return false;
      out.set(i, j, distance);
    }
  }
  return true;
}

int print_trees(std::istream& in, Linkage linkage) {
  std::size_t peers = 0;
  while (in >> peers) {
    if (peers > kMostPeers) return refuse("more than 1024 peers");
    Distances distances(peers);
    if (!read_distances(in, distances))
      return refuse("a distance is missing, negative or no number");
    for (const Merge& merge : agglomerate(distances, linkage).merges) {
      std::printf("%u %u %.17g %u\n", merge.a, merge.b, merge.height, merge.size);
    }
  }
  return in.eof() ? 0 : refuse("a number of peers was expected");
}

// Eight groups of points in 16 dimensions.
Distances example(std::size_t peers) {
  hearsay::kernels::Rng rng = hearsay::kernels::Rng::stream(1, "linkage");
  std::vector<std::vector<float>> rows(peers, std::vector<float>(16));
  for (std::size_t i = 0; i < peers; ++i) {
    for (float& value : rows[i]) value = static_cast<float>(rng.normal());
    rows[i][i % 8] += 8.0f;
  }
  const std::vector<std::span<const float>> sketches(rows.begin(), rows.end());
  return sketch_distances(sketches, Metric::euclidean);
}

int print_times(std::size_t peers) {
  const auto ms = [](std::clock_t ticks) {
    return 1e3 * static_cast<double>(ticks) / static_cast<double>(CLOCKS_PER_SEC);
  };
  const Distances distances = example(peers), squares = squared(distances);
  for (const Linkage linkage :
       {Linkage::single, Linkage::complete, Linkage::average, Linkage::ward}) {
    constexpr const char* kNames[] = {"single", "complete", "average", "ward"};
    double tree_ms = std::numeric_limits<double>::infinity(), cut_ms = tree_ms;
    std::uint32_t count = 0;
    for (int repeat = 0; repeat < 5; ++repeat) {
      const auto begin = std::clock();
      const Tree tree = agglomerate(linkage == Linkage::ward ? squares : distances, linkage);
      const auto middle = std::clock();
      count = cut_by_silhouette(tree, distances, {}).partition.count;
      tree_ms = std::min(tree_ms, ms(middle - begin));
      cut_ms = std::min(cut_ms, ms(std::clock() - middle));
    }
    std::printf("%zu peers, %s: tree %.2f ms, cut by silhouette %.2f ms, %u communities\n", peers,
                kNames[static_cast<std::size_t>(linkage)], tree_ms, cut_ms, count);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  if (argc == 3 && std::strcmp(arguments[1], "--time") == 0) {
    const std::string_view text = arguments[2];
    std::size_t peers = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), peers);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number && peers <= kMostPeers ? print_times(peers) : refuse("N is 0 to 1024");
  }
  const auto linkage = argc == 2 ? linkage_of(arguments[1]) : std::nullopt;
  return linkage ? print_trees(std::cin, *linkage) : refuse("no such method");
}
