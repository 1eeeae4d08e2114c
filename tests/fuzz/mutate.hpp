// SPDX-License-Identifier: Apache-2.0
// Small damage to an input, drawn from a seed alone: the same seed and the same files give the same
// inputs on every machine. Not guided by coverage, as libFuzzer is; meant for every run of the
// tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearsay::fuzz {

using Input = std::vector<std::uint8_t>;

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : state_(seed) {}

  // One of `corpus` after one to four changes: flipped, inserted, removed or doubled bytes, cut
  // off, spliced with another one, or (seldom) with a nest of 100,000 brackets in it.
  Input next(const std::vector<Input>& corpus);

 private:
  std::uint64_t draw();
  std::size_t below(std::size_t bound);  // bound > 0
  void change(Input& input, const std::vector<Input>& corpus);

  std::uint64_t state_;
};

Input nest(std::size_t depth, const char* open, const char* inside, const char* close);

}  // namespace hearsay::fuzz
