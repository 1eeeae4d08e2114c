// SPDX-License-Identifier: Apache-2.0
// What `hearsay data describe` and `hearsay data split` print: each as text for people (100 columns
// for up to ten classes of at most 9,999,999 examples) and as JSON with the same facts. Digest:
// XXH3-64 over eight little-endian 64-bit words: rows, cols, classes, 0, then the XXH3-64 of
// training pixels, training labels, test pixels, test labels.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/data/dataset.hpp"
#include "runtime/data/partition.hpp"

namespace hearsay::runtime {

struct PixelStats {
  double mean = 0.0, deviation = 0.0;  // of all pixels, black = 0, white = 1
};

PixelStats pixel_stats(const ImageSet& images);      // one exact pass in integers
std::string dataset_digest(const Dataset& dataset);  // 16 lower-case digits

std::string describe_text(const Dataset& dataset);
nlohmann::ordered_json describe_json(const Dataset& dataset);

// Histograms count labels as the peers train on them: rotated, and wrong where `+noise` says so.
std::string split_text(const Dataset& dataset, const Partition& partition, std::uint64_t seed);
nlohmann::ordered_json split_json(const Dataset& dataset, const Partition& partition,
                                  std::uint64_t seed);

}  // namespace hearsay::runtime
