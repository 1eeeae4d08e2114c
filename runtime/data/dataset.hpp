// SPDX-License-Identifier: Apache-2.0
// Labelled images as bytes: what a data set and a shard are made of. Pixels stay bytes in memory;
// the trainer turns a mini-batch into floats. Values are movable data, owned by whoever holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hearsay::runtime {

struct ImageSet {
  std::size_t rows = 0, cols = 0;    // pixels of one image
  std::uint32_t classes = 0;         // labels are 0 .. classes - 1
  std::vector<std::uint8_t> pixels;  // [count][rows * cols], row-major
  std::vector<std::uint8_t> labels;  // [count]
  // Of a shard: where each image stands in the training set; else empty.
  std::vector<std::uint32_t> ids = {};  // [count]

  std::size_t count() const noexcept { return labels.size(); }
  std::size_t image_bytes() const noexcept { return rows * cols; }
  std::span<const std::uint8_t> image(std::size_t i) const {
    return std::span(pixels).subspan(i * image_bytes(), image_bytes());
  }
};

struct Dataset {
  std::string name;    // as in the spec: "fashion-mnist"
  std::string origin;  // folder or generator, for people
  ImageSet train, test;
};

// Loads `fashion-mnist[:DIR]`, `mnist:DIR`, `idx:DIR` or `synthetic:digits` (--data). DIR is taken
// as it stands and falls back to $HEARSAY_DATA/<name>, then $HEARSAY_DATA; fashion-mnist also to
// the folder of Debian's package. The seed matters to generated sets only. Throws UsageError
// (unknown name, files not there) or DamagedFile (broken, or not fitting together).
Dataset load_dataset(const std::string& spec, std::uint64_t seed);

}  // namespace hearsay::runtime
